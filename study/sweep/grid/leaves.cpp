#include "study/sweep/grid/leaves.hpp"

#include <algorithm>

#include "schedules/generator.hpp"
#include "sim/io/config/config.hpp"
#include "sim/io/json/json_text.hpp"
#include "study/sweep/grid/grid_keys.hpp"
#include "study/text/fingerprint.hpp"
#include "study/text/mix.hpp"

namespace pipeloom::sweep {
namespace {

using io::Value;
using io::ValueKind;

class LeafWalk {
 public:
  explicit LeafWalk(const std::vector<std::string_view>& except) : except_(except) {}

  std::uint64_t walk(const Value& value, std::string& path) {
    if (path == "origin" || is_excepted(path)) return 0;
    const std::size_t size = path.size();
    std::uint64_t sum = 0;
    if (!value.is(ValueKind::Object) && (!value.is(ValueKind::Array) || value.items().empty()))
      return leaf(value, path);
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      if (size > 0) path += '.';
      path += value.is(ValueKind::Object) ? value.keys()[i].name : std::to_string(i);
      sum += walk(value.items()[i], path);
      path.resize(size);
    }
    return sum;
  }

 private:
  [[nodiscard]] bool is_excepted(std::string_view path) const {
    return std::any_of(except_.begin(), except_.end(), [path](std::string_view key) {
      return key.size() <= path.size() && overlap(key, path);
    });
  }

  static std::uint64_t leaf(const Value& value, std::string_view path) {
    std::string json;
    if (path == "schedule" && value.is(ValueKind::String))
      io::append_json_string(json, schedule_identity(value.text()));
    else
      append_plain_json(json, value, true);
    return leaf_hash(path, json);
  }

  const std::vector<std::string_view>& except_;
};

}  // namespace

std::uint64_t leaf_hash(std::string_view key, std::string_view json) {
  study::Fingerprint hash;
  hash.add(key);
  hash.add(std::string_view("=", 1));
  hash.add(json);
  // FNV's low bits know little of the last bytes; the sum below needs every bit to depend on all of them.
  return mixed(hash.number());
}

std::uint64_t leaf_sum(const Value& value, std::string_view key,
                       const std::vector<std::string_view>& except) {
  std::string path(key);
  return LeafWalk(except).walk(value, path);
}

std::string schedule_identity(std::string_view name) {
  if (name == io::kCustomSchedule) return std::string(name);
  try {
    const schedules::Found found = schedules::find(name);
    const bool brings_defaults = found.alias != nullptr && found.alias->defaults;
    return brings_defaults ? found.generator->name + "/" + found.alias->name : found.generator->name;
  } catch (const InputError&) {
    return std::string(name);
  }
}

std::string identity_text(std::uint64_t sum) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::uint64_t number = mixed(sum + kMixStep);
  std::string out(16, '0');
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = kDigits[(number >> (60 - 4 * i)) & 0xF];
  return out;
}

}  // namespace pipeloom::sweep
