#include "study/sweep/result/result.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "sim/base/printable.hpp"
#include "sim/io/json/json_text.hpp"
#include "version.hpp"

namespace pipeloom::sweep {
namespace {

constexpr const char* kOption = "--shard";

std::optional<int> whole(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size() && value >= 0
             ? std::optional(value)
             : std::nullopt;
}

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view(value);
}

/// A variable that a launcher or scheduler sets for each of the processes that it starts.
struct Launcher {
  const char* index;
  const char* first;  ///< variable with the lowest index, or nullptr: it is 0
  const char* step;   ///< variable with the distance of two indices, or nullptr: it is 1
  const char* needs;  ///< variable that must be above 1 for the index to mean anything, or nullptr
};
constexpr Launcher kLaunchers[] = {
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP", nullptr},
    {"JOB_COMPLETION_INDEX", nullptr, nullptr, nullptr},
    {"SLURM_PROCID", nullptr, nullptr, "SLURM_NTASKS"},
    {"OMPI_COMM_WORLD_RANK", nullptr, nullptr, nullptr},
    {"PMI_RANK", nullptr, nullptr, nullptr},
    {"RANK", nullptr, nullptr, nullptr},
};

int number_in(const char* name) {
  const std::string_view text = environment(name);
  const auto value = whole(text);
  if (!value)
    throw InputError(Where{kOption}, fmt::format("{} is '{}'; it must be a whole number for auto/n, or say "
                                                 "which shard this is, such as 1/4",
                                                 name, shortened(text, 64)));
  return *value;
}

/// Which shard the environment says that this is, from 1.
int automatic_index(int count) {
  for (const Launcher& launcher : kLaunchers) {
    if (environment(launcher.index).empty()) continue;
    if (launcher.needs != nullptr && whole(environment(launcher.needs)).value_or(0) <= 1) continue;
    const auto optional = [](const char* name, int otherwise) {
      return name == nullptr || environment(name).empty() ? otherwise : number_in(name);
    };
    const int distance = number_in(launcher.index) - optional(launcher.first, 0);
    const int index = 1 + distance / std::max(1, optional(launcher.step, 1));
    if (distance < 0 || index > count)
      throw InputError(
          Where{kOption},
          fmt::format("{} = {} makes this shard {} of {}; start as many tasks as there are shards, or "
                      "raise the number behind auto/",
                      launcher.index, environment(launcher.index), index, count));
    return index;
  }
  throw InputError(Where{kOption},
                   "auto finds none of SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX, SLURM_PROCID, "
                   "OMPI_COMM_WORLD_RANK, PMI_RANK and RANK; say which shard this is, such as 1/4");
}

}  // namespace

std::string Shard::text() const {
  return fmt::format("{}/{}", index, count);
}

bool Shard::has(std::string_view key) const {
  std::uint64_t number = 0;
  std::from_chars(key.data(), key.data() + key.size(), number, 16);
  return number % static_cast<std::uint64_t>(count) == static_cast<std::uint64_t>(index - 1);
}

Shard Shard::parse(std::string_view text) {
  const auto refuse = [text] {
    return InputError(
        Where{kOption},
        fmt::format("found '{}'; allowed is i/n with i from 1 to n and n up to {}, such as 3/7, or auto/n",
                    shortened(text, 64), kMaxShards));
  };
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) throw refuse();
  Shard out;
  out.count = whole(text.substr(slash + 1)).value_or(0);
  if (out.count < 1 || out.count > kMaxShards) throw refuse();
  const std::string_view index = text.substr(0, slash);
  out.index = index == "auto" ? automatic_index(out.count) : whole(index).value_or(0);
  if (out.index < 1 || out.index > out.count) throw refuse();
  return out;
}

Header Header::of(const Grid& grid, std::vector<std::string> metrics, std::uint64_t points,
                  std::optional<Shard> shard) {
  Header out;
  out.version = kVersion;
  out.grid = grid.hash();
  out.points = points;
  out.metrics = std::move(metrics);
  out.axes_json = grid.axes_json();
  out.base_json = grid.base_json();
  out.shard = shard;
  return out;
}

std::string Header::line() const {
  std::string out = fmt::format(R"({{"sweep": {{"schema_version": {}, "version": )", schema_version);
  io::append_json_string(out, version);
  out += R"(, "grid": )";
  io::append_json_string(out, grid);
  out += fmt::format(R"(, "points": {}, "metrics": [)", points);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (i > 0) out += ", ";
    io::append_json_string(out, metrics[i]);
  }
  out += R"(], "axes": )" + axes_json + R"(, "base": )" + base_json;
  if (shard) out += R"(, "shard": ")" + shard->text() + '"';
  return out + "}}";
}

}  // namespace pipeloom::sweep
