#pragma once

// What stands in letters, as the executor's frames write numbers and texts (executor/net/wire.hpp).

#include <cstdint>
#include <string>

#include "executor/net/wire.hpp"
#include "study/sweep/run/piece.hpp"

namespace pipeloom::cli::mpi {

namespace net = executor::net;

/// Who a rank is, for whoever wants to know whether it still lives.
struct Introduction {
  std::string host;
  /// Equal for two processes that see each other's process numbers: boot and process namespace; "" if that is not known.
  std::string place;
  int process = 0;
  [[nodiscard]] static Introduction of_this_process();
  /// True only if that is certain: it was in our place, and there is no such process any more.
  [[nodiscard]] bool is_gone() const;
};

/// A worker that has read the grid.
struct Readiness {
  int threads = 1;
  std::string identity;  ///< version, grid, metrics, format: must be rank 0's
};

struct Assignment {
  std::uint64_t number = 0;
  sweep::Piece piece;
  std::uint64_t skip_below = 0;  ///< points below are in the file already
};

struct Completion {
  std::uint64_t number = 0;
  sweep::PieceText text;
};

struct Failure {
  int exit_code = 0;
  std::string message;
};

[[nodiscard]] net::Bytes pack(const Introduction& letter);
[[nodiscard]] net::Bytes pack(const Readiness& letter);
[[nodiscard]] net::Bytes pack(const Assignment& letter);
[[nodiscard]] net::Bytes pack(const Completion& letter);
[[nodiscard]] net::Bytes pack(const Failure& letter);

/// Throws InternalError for what pack() has not made.
template <class Content>
[[nodiscard]] Content unpack(const net::Bytes& body);

}  // namespace pipeloom::cli::mpi
