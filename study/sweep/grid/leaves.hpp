#pragma once

// Identity of a configuration, whatever grid it comes from. A configuration is the set of its leaves, "costs.backward.3" = 2.5; its identity
// is made of the sum of their hashes, so that what a grid varies is exchanged without looking at the rest again.
//
// Leaves are plain: numbers as plain_decimal() writes them, schedules by their own name (with the alias behind it where that
// brings defaults of its own). Empty objects have no leaves, and neither has "origin", which no reader looks at.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/json/json_value.hpp"

namespace pipeloom::sweep {

/// Hash of one leaf. `json` is plain: "1.5", "\"sum\"".
[[nodiscard]] std::uint64_t leaf_hash(std::string_view key, std::string_view json);
/// Sum (modulo 2^64) of the hashes of the leaves of a value that stands at `key` ("" for a whole configuration), without those
/// at and below the keys in `except`.
[[nodiscard]] std::uint64_t leaf_sum(const io::Value& value, std::string_view key,
                                     const std::vector<std::string_view>& except = {});
/// What a schedule's name is in identities: "zb-h1" for zb1p, "interleaved-1f1b/Interleaved1F1B" for an alias that brings defaults, the name
/// itself where there is no such schedule.
[[nodiscard]] std::string schedule_identity(std::string_view name);
/// 16 hexadecimal digits of a sum.
[[nodiscard]] std::string identity_text(std::uint64_t sum);

}  // namespace pipeloom::sweep
