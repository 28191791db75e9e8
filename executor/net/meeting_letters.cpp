#include "executor/net/meeting_letters.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "executor/net/world.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::executor::net {
namespace {

/// The beginning of every letter: "PIPELOOM".
constexpr std::uint64_t kSignature = 0x4d4f4f4c45504950;

Frame sealed(LetterKind kind, Writer&& out) {
  return {static_cast<std::uint8_t>(kind), std::move(out).take()};
}

Writer signed_letter() {
  Writer out;
  out.u64(kSignature);
  return out;
}

Reader opened(const Frame& frame, LetterKind kind) {
  Reader in(frame.body);
  if (!is(frame, kind) || in.u64() != kSignature)
    throw MalformedBytes("an unexpected message, of kind " + std::to_string(frame.kind));
  return in;
}

int small_number(Reader& in) {
  const std::uint32_t number = in.u32();
  if (number > std::uint32_t{kMostRanks}) throw MalformedBytes("a rank or size of " + std::to_string(number));
  return static_cast<int>(number);
}

std::uint16_t port(Reader& in) {
  const std::uint32_t number = in.u32();
  if (number > std::numeric_limits<std::uint16_t>::max())
    throw MalformedBytes("a port of " + std::to_string(number));
  return static_cast<std::uint16_t>(number);
}

std::uint32_t number_of(int value) {
  return static_cast<std::uint32_t>(value);
}

std::string rank_text(const Hello& hello) {
  return "rank " + std::to_string(hello.rank);
}

/// The first agreement that differs; "" if none does.
std::string disagreement(const Hello& host, const Hello& guest) {
  constexpr std::size_t kMostShown = 80;
  const auto [ours, theirs] = std::mismatch(host.agreements.begin(), host.agreements.end(),
                                            guest.agreements.begin(), guest.agreements.end());
  const bool ours_end = ours == host.agreements.end();
  const bool theirs_end = theirs == guest.agreements.end();
  if (ours_end && theirs_end) return "";
  if (ours_end || theirs_end || ours->name != theirs->name)
    return rank_text(guest) + " compares other things than rank 0; start the same program on all ranks";
  return rank_text(guest) + " has another " + shortened(ours->name, kMostShown) + ": " +
         shortened(theirs->value, kMostShown) + "; rank 0 has " + shortened(ours->value, kMostShown);
}

}  // namespace

bool is(const Frame& frame, LetterKind kind) {
  return frame.kind == static_cast<std::uint8_t>(kind);
}

Frame letter(LetterKind kind, const std::string& text) {
  return sealed(kind, std::move(signed_letter().text(text)));
}

Frame letter(const Hello& hello) {
  Writer out = signed_letter();
  out.u32(hello.version).u32(number_of(hello.rank)).u32(number_of(hello.size)).u32(hello.port);
  out.u32(static_cast<std::uint32_t>(hello.agreements.size()));
  for (const Agreement& one : hello.agreements) out.text(one.name).text(one.value);
  return sealed(LetterKind::Hello, std::move(out));
}

Frame letter(const Table& table) {
  Writer out = signed_letter();
  out.u64(table.run).u32(static_cast<std::uint32_t>(table.addresses.size()));
  for (const Address& address : table.addresses) out.text(address.host).u32(address.port);
  return sealed(LetterKind::Table, std::move(out));
}

Frame letter(const Call& call) {
  return sealed(LetterKind::Call, std::move(signed_letter().u64(call.run).u32(number_of(call.rank))));
}

std::string text_in(const Frame& frame) {
  Reader in = opened(frame, static_cast<LetterKind>(frame.kind));
  std::string text = in.text();
  in.end();
  return text;
}

Hello hello_in(const Frame& frame) {
  Reader in = opened(frame, LetterKind::Hello);
  Hello hello;
  hello.version = in.u32();
  hello.rank = small_number(in);
  if (hello.version != kProtocolVersion) return hello;
  hello.size = small_number(in);
  hello.port = port(in);
  for (std::uint32_t left = in.u32(); left > 0; --left) {
    std::string name = in.text();
    hello.agreements.push_back({std::move(name), in.text()});
  }
  in.end();
  return hello;
}

Table table_in(const Frame& frame) {
  Reader in = opened(frame, LetterKind::Table);
  Table table;
  table.run = in.u64();
  for (std::uint32_t left = in.u32(); left > 0; --left) {
    std::string host = in.text();
    table.addresses.push_back({std::move(host), port(in)});
  }
  in.end();
  return table;
}

Call call_in(const Frame& frame) {
  Reader in = opened(frame, LetterKind::Call);
  Call call;
  call.run = in.u64();
  call.rank = small_number(in);
  in.end();
  return call;
}

std::string difference(const Hello& host, const Hello& guest) {
  const std::string name = rank_text(guest);
  if (guest.version != host.version)
    return name + " speaks version " + std::to_string(guest.version) + " of the protocol, rank 0 version " +
           std::to_string(host.version) + "; start the same program on all ranks";
  if (guest.size != host.size)
    return name + " counts " + std::to_string(guest.size) + " ranks, rank 0 counts " +
           std::to_string(host.size) + "; start all with the same WORLD_SIZE";
  if (guest.rank < 1 || guest.rank >= host.size)
    return "a process that calls rank 0 says that it is " + name + "; allowed are 1 to " +
           std::to_string(host.size - 1);
  return disagreement(host, guest);
}

}  // namespace pipeloom::executor::net
