#pragma once

// Files of traces as the tools themselves write them, from a timeline: what every reader of them has to give back.

#include <filesystem>
#include <string>
#include <vector>

#include <pipeloom/simulate.hpp>

namespace pipeloom::test {

/// A folder of its own that is gone afterwards.
class TraceFolder {
 public:
  explicit TraceFolder(const std::string& name);
  ~TraceFolder();
  TraceFolder(const TraceFolder&) = delete;
  TraceFolder& operator=(const TraceFolder&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  /// Its files, by name.
  [[nodiscard]] std::vector<std::string> files() const;

 private:
  std::filesystem::path path_;
};

struct TraceStyle {
  /// Things beside each op that no reader wants: kernels, collectives, other ranges.
  int noise = 0;
  /// Rows stand in the opposite order.
  bool is_reversed = false;
  /// Sends and receives too, where the format has them: a message leaves when its producer ends, takes kTraceLatency, and its receiver waits for it from the end of
  /// the op before on.
  bool has_messages = false;
  /// [rank]: what its clock is ahead; empty: all are one.
  std::vector<Ticks> ahead = {};
};
inline constexpr Ticks kTraceLatency = 250'000;  // 0.25 us

/// Writes the files of all ranks; `format` is a name that --from takes. Times are whole nanoseconds, the schedule 1F1B-like with one stage per rank. Megatron's
/// files hold one step.
void write_trace(const std::string& format, const TraceFolder& folder, const Timeline& times,
                 const TraceStyle& style = {});

/// Op q of a rank's queue runs from q 10 us + 3 us per rank on, for 7.125 us; steps are as long as they are, and 100 us.
[[nodiscard]] Timeline regular_times(const std::string& orders, int steps);
/// Every op follows from what it waits for: F 10 us, any backward 20 us, kTraceLatency between ranks; steps 100 us apart.
[[nodiscard]] Timeline simulated_times(const std::string& orders, int steps);

}  // namespace pipeloom::test
