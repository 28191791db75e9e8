#include "study/text/fingerprint.hpp"

#include <fmt/format.h>

namespace pipeloom::study {

void Fingerprint::add(std::string_view bytes) {
  for (const char c : bytes) {
    state_ ^= static_cast<unsigned char>(c);
    state_ *= 1099511628211ULL;
  }
}

void Fingerprint::add(std::uint64_t number) {
  for (int byte = 0; byte < 8; ++byte) {
    state_ ^= (number >> (8 * byte)) & 0xFF;
    state_ *= 1099511628211ULL;
  }
}

std::string Fingerprint::text() const {
  return fmt::format("{:016x}", state_);
}

std::string fingerprint(std::string_view bytes) {
  Fingerprint out;
  out.add(bytes);
  return out.text();
}

std::string fingerprint_of_orders(const Schedule& schedule) {
  Fingerprint out;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    out.add(std::uint64_t{schedule.queue_end(rank) - schedule.queue_begin(rank)});
    for (const Op op : schedule.queue(rank)) out.add(op.key() | (std::uint64_t{op.joined()} << 63));
  }
  return out.text();
}

std::string fingerprint_of_times(const Timeline& timeline) {
  Fingerprint out;
  for (std::size_t i = 0; i < timeline.start.size(); ++i) {
    out.add(static_cast<std::uint64_t>(timeline.start[i]));
    out.add(static_cast<std::uint64_t>(timeline.end[i]));
  }
  return out.text();
}

}  // namespace pipeloom::study
