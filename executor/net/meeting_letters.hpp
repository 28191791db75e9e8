#pragma once

// Letters between ranks while they meet.
//
//   rank r -> rank 0     Hello     who I am, where I listen, what we agree on
//   rank 0 -> rank r     Welcome   you have reached rank 0
//   rank 0 -> rank r     Table     the number of this run, where the others listen
//   rank r -> peer q<r   Call      the first frame of a data connection, and q's answer
//   rank r -> rank 0     Ready     all my data connections are open
//                        Failed    they are not: why
//   rank 0 -> rank r     Go        those of all ranks are open
//                        Reject    at any time: the meeting has failed, why

#include <cstdint>
#include <string>
#include <vector>

#include "executor/net/wire.hpp"
#include "executor/net/world.hpp"

namespace pipeloom::executor::net {

enum class LetterKind : std::uint8_t { Hello = 1, Welcome, Table, Call, Ready, Failed, Go, Reject };

/// Changes with every change of the letters between ranks, here and during a run.
inline constexpr std::uint32_t kProtocolVersion = 2;

/// No letter is longer.
inline constexpr std::uint32_t kMostLetterBytes = 1U << 20;

struct Hello {
  std::uint32_t version = kProtocolVersion;
  int rank = 0;
  int size = 1;
  std::uint16_t port = 0;  ///< of its data listener
  std::vector<Agreement> agreements;
};

struct Table {
  std::uint64_t run = 0;  ///< random
  std::vector<Address>
      addresses;  ///< [rank] of the data listeners; no host: the master's, as the reader knows it
};

struct Call {
  std::uint64_t run = 0;
  int rank = 0;
};

[[nodiscard]] bool is(const Frame& frame, LetterKind kind);
[[nodiscard]] Frame letter(LetterKind kind, const std::string& text = "");
[[nodiscard]] Frame letter(const Hello& hello);
[[nodiscard]] Frame letter(const Table& table);
[[nodiscard]] Frame letter(const Call& call);

/// All throw MalformedBytes for anything but such a letter: another kind, another body, no "pipeloom" at its beginning. Of another version's Hello
/// only version and rank are read.
[[nodiscard]] std::string text_in(const Frame& frame);
[[nodiscard]] Hello hello_in(const Frame& frame);
[[nodiscard]] Table table_in(const Frame& frame);
[[nodiscard]] Call call_in(const Frame& frame);

/// Returns why `guest` cannot take part in a run of which rank 0 said `host`; "" if it can.
[[nodiscard]] std::string difference(const Hello& host, const Hello& guest);

}  // namespace pipeloom::executor::net
