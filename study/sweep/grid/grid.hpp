#pragma once

// Grids: which configurations a sweep runs, as a file says it (docs/sweeps.md). A grid is never expanded: point i is computed from
// i, so memory does not grow with the number of points.
//
//   combination   a place in the products of axes, zips and samples, in file order, last axis fastest; 0 .. combinations()-1
//   point         a combination for which every "where" holds, counted from 0: the identity of a result. Without "where" the two
//                 are the same number.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/io/config/config.hpp"
#include "sim/io/json/json_value.hpp"
#include "study/run/scenario_run.hpp"

namespace pipeloom::sweep {

/// One key that a combination sets.
struct Setting {
  std::uint32_t key = 0;  ///< position in Grid::keys()
  std::string json;       ///< compact JSON text, numbers as exact decimals: "8", "1.25", "\"zb-h1\""
};

/// A combination that holds. Reused between calls, so that its buffers are.
struct Combination {
  std::uint64_t index = 0;
  /// The values that vary, in the order of Grid::keys(): axes and zips in file order, then derived keys.
  std::vector<Setting> settings;
};

struct GridLimits {
  /// A larger product is refused, its size named (1e18 too; an overflow says "more than 1.8e19").
  std::uint64_t max_points = 100'000'000;
};

struct GridContent;

/// A grid. Cheap to copy: copies share their content.
class Grid {
 public:
  /// Reads a grid. "base" may be an object or a file, relative to the grid's folder; a base that names a costs file has it inlined.
  /// Throws InputError (file:line:column) for unknown or duplicate keys, keys that no configuration has, NaN, empty or endless ranges,
  /// zips of unequal length, a key set twice, derived keys that form a cycle, and products beyond the limit.
  [[nodiscard]] static Grid read(const std::string& path, const GridLimits& limits = {});
  [[nodiscard]] static Grid parse(std::string_view text, const std::string& path,
                                  const GridLimits& limits = {});
  /// From options alone: `base` is a configuration document, `axes` are texts "KEY=VALUES" with VALUES a JSON value, a list
  /// "a,b,c", or "from..to", "from..to:step"; a key given twice is an error. `sweep --axis` calls it.
  [[nodiscard]] static Grid of_options(const io::Document& base, const std::vector<std::string>& axes,
                                       const GridLimits& limits = {});

  /// Keys that some combination sets, aliases normalised: "costs.forward".
  [[nodiscard]] const std::vector<std::string>& keys() const;
  /// Names of the metrics that the grid asks for; empty: the default ones of the sweep.
  [[nodiscard]] const std::vector<std::string>& metrics() const;
  /// The scenarios that every point runs, if there are any; no part of the grid's hash.
  [[nodiscard]] const std::optional<study::ScenarioChoice>& scenarios() const { return scenarios_; }
  /// Replaces the file's scenarios.
  void set_scenarios(const study::ScenarioChoice& choice) { scenarios_ = choice; }
  [[nodiscard]] std::uint64_t combinations() const;
  [[nodiscard]] bool has_conditions() const;
  /// False if a "where" excludes it. Thread-safe. Throws InputError, naming the combination, if an expression cannot be computed.
  bool combination(std::uint64_t index, Combination& out) const;

  /// The base with the combination's settings on top, as `simulate` would read it. Throws InputError, which is the point's
  /// status "illegal"; messages name the key and its value. Thread-safe.
  [[nodiscard]] io::Config config(const Combination& combination) const;
  /// The same as a document, to write it to a file or open it in the window.
  [[nodiscard]] io::Document document(const Combination& combination) const;
  /// Identity of a run: fingerprint of base and settings, aliases of schedules normalised, before defaults; 16 hex digits. Equal for
  /// equal configurations of different grids. Picks the shard.
  [[nodiscard]] std::string key(const Combination& combination) const;

  /// Fingerprint of everything that decides the number of points and their content: 16 hex digits.
  [[nodiscard]] const std::string& hash() const;
  /// For the header: compact JSON of "axes" (an array of {"key": ..., "points": n} or of such arrays for a union) and of the base.
  [[nodiscard]] const std::string& axes_json() const;
  [[nodiscard]] const std::string& base_json() const;

 private:
  explicit Grid(std::shared_ptr<const GridContent> content);

  std::shared_ptr<const GridContent> content_;
  std::optional<study::ScenarioChoice> scenarios_;
};

}  // namespace pipeloom::sweep
