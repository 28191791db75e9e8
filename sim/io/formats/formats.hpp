#pragma once

// The file formats of `convert`. Adding one: a function returning its Format, and its line in formats.def.

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include "sim/actions.hpp"
#include "sim/draw/scene.hpp"
#include "sim/io/formats/timeline_reader.hpp"
#include "sim/torch/lowering.hpp"

namespace pipeloom::io {

/// Everything a writer may need. `schedule` is always there, the others only where the format's `needs_times` is true.
struct Exported {
  const Schedule* schedule = nullptr;
  const Timeline* timeline = nullptr;
  const Costs* costs = nullptr;
  const MemoryModel* memory = nullptr;
  /// Writes the report with orders and timeline; empty for a run without metrics.
  std::function<void(std::ostream&)> report;
  /// For pictures; null draws with the defaults. Its costs and memory are those above.
  const draw::SceneOptions* picture = nullptr;
  /// For traces: flow arrows and memory counters whatever the number of ops.
  bool full_trace = false;
  /// The blanks that the schedule's own framework draws, or that its file had; null if there are none.
  const IdleCells* idle_cells = nullptr;
  /// The actions of the file that the schedule was read from, if it said more than computations and they are to be kept.
  const ActionLists* actions = nullptr;
  /// Options to lower a schedule by where there are no actions.
  torch::LowerOptions lowering = {};
};

/// The result of reading a file.
struct Imported {
  std::shared_ptr<const Schedule> schedule;
  /// "file:line:column: ..." lines for stderr.
  std::vector<std::string> warnings;
  /// Blanks that the file drew; null if its format has none.
  std::shared_ptr<const IdleCells> idle_cells = nullptr;
  /// Everything the file said, if that is more than computations.
  std::shared_ptr<const ActionLists> actions = nullptr;
};

/// Bytes of a report with its timeline.
inline constexpr int kReportBytesPerOp = 73;

struct Format {
  std::string name;                     ///< "torch-compute", as --from and --to spell it
  std::vector<std::string> extensions;  ///< {".csv"}: the extensions for which it is taken; may be empty
  std::string summary;                  ///< one line
  bool needs_times = false;             ///< writing it takes a simulated schedule
  bool needs_metrics = false;           ///< and a measured one: Exported::report is there
  bool binary = false;                  ///< not for a terminal
  /// Writes a scene; empty for formats that are no pictures. Exported::picture changes what `write` draws.
  std::function<void(std::ostream& out, const draw::Scene& scene)> picture = {};
  int bytes_per_op =
      0;  ///< of text, about, for every op of every step; 0 for texts that do not grow with them
  bool lowers = false;  ///< Exported::lowering changes it
  /// Of a format that is no schedule: advice on such a file, for the error text.
  std::string read_instead = {};
  /// Empty if the format cannot be read. Throws InputError.
  std::function<Imported(std::string_view text, const std::string& name)> read;
  /// Empty if the format holds no times that can be read back. Throws InputError.
  std::function<TimelineFile(std::string_view text, const std::string& name)> read_timeline;
  /// Empty if the format cannot be written. The stream is binary.
  std::function<void(std::ostream&, const Exported&)> write;
  /// Returns true if a file that begins like this may be of this format. Empty: never recognised by content.
  std::function<bool(std::string_view text)> sniff;
};

/// Every format, in the order of formats.def.
[[nodiscard]] const std::vector<Format>& all_formats();
/// Finds a format by name. Throws InputError suggesting the nearest and listing all.
[[nodiscard]] const Format& find_format(std::string_view name, const Where& where = {});
/// Finds a format by the longest matching extension of a path (".trace.json" before ".json"), in either case; null if none.
[[nodiscard]] const Format* format_by_extension(std::string_view path);
/// The first readable format that recognises the text; null if none does.
[[nodiscard]] const Format* format_by_content(std::string_view text);

/// Reads a schedule file of any readable format: by `format_name` if given, else by content, else by extension.
/// Throws InputError naming the readable formats.
[[nodiscard]] Imported read_schedule(std::string_view text, const std::string& path,
                                     std::string_view format_name = {});

}  // namespace pipeloom::io
