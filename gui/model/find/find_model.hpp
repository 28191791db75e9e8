#pragma once

// The best schedule for the configuration under edit, sought while the window stays usable: the question, the progress, the results. The
// results are rows of the table of schedules, too.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/find/find_question.hpp"
#include "gui/model/find/find_rows.hpp"
#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

class FindModel : public Part {
 public:
  explicit FindModel(Session& session);

  [[nodiscard]] const FindQuestion& question() const { return question_; }
  /// The choices that may vary: the question's, or the usual ones.
  [[nodiscard]] study::VarySet vary(Session& session) const;
  /// "objective peak_bytes", "vary order", "budget 5", "target megatron", "limit 3.2GB" (the configuration's; "none" leaves it out). Throws
  /// InputError that names the allowed values.
  void set(Session& session, std::string_view text);
  /// Adds `vary` to the choices that may vary, or removes it.
  void flip(Session& session, study::Vary vary);

  /// Begins anew, on a thread of its own; the panel opens. Throws InputError where the question needs an input that the configuration lacks.
  void start(Session& session);
  /// Ends it: the best so far is the answer.
  void end() const;
  [[nodiscard]] bool running() const { return running_; }
  /// "searched v v=2: 25.0, bound 24.75, gap 1.0 %, 3 s"; "" while nothing runs.
  [[nodiscard]] std::string progress_text() const;

  /// The reason for which there is no answer, "" where there is one or none was asked for.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Null before the first answer.
  [[nodiscard]] const study::Plan* plan() const { return plan_.get(); }
  [[nodiscard]] const std::vector<FindRow>& rows() const { return rows_; }
  [[nodiscard]] const FindPicture& picture() const { return picture_; }
  /// The parameters are others since.
  [[nodiscard]] bool stale() const { return stale_; }
  /// "18 that fit, 4 over the limit, 12 cannot run"
  [[nodiscard]] std::string counts_text() const;

  /// A row with this name that only a search knows.
  [[nodiscard]] bool has(std::string_view name) const;
  /// Its configuration is under edit, and the run before is kept as a snapshot; an order that no configuration names is stacked, and made the
  /// active run. Schedules of the registry likewise. Throws InputError for a name that was not found.
  void show(Session& session, std::string_view name);

  bool update(Session& session) override;
  void stop(Session& session) override;
  [[nodiscard]] bool idle() const override { return jobs_.idle() && to_activate_.empty(); }
  [[nodiscard]] std::string_view state_key() const override { return "find"; }
  /// {"running", "objective", "vary", "budget", "target", "problem", "stale", "winner": NAME or null, "front": [NAME], "rows": [{"name", "step_time",
  /// "peak_bytes", "fits", "front"}]}; times in the run's unit, peaks in bytes or activations.
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  /// State that the search and the window share.
  struct Shared {
    std::atomic<bool> ended = false;
    std::mutex mutex;
    std::string doing;
    std::string best;
  };
  struct Answer {
    std::shared_ptr<const study::Plan> plan;
    std::string problem;
  };
  [[nodiscard]] Answer seek(const Assignments& workload, study::PlanOptions options, Shared& shared,
                            const Cancelled& cancelled) const;
  void take(Session& session, Answer answer);

  FindQuestion question_;
  std::function<void()> wake_;
  std::shared_ptr<Shared> shared_;
  std::chrono::steady_clock::time_point began_;
  bool running_ = false;
  bool stale_ = false;
  std::string shown_progress_;  // of the update before
  std::string problem_;
  std::uint64_t revision_ = 0;
  std::shared_ptr<const study::Plan> plan_;
  std::vector<FindRow> rows_;
  FindPicture picture_;
  std::string to_activate_;  // a stacked row whose run is still to come
  Jobs jobs_;                // last: it stops before the members that its results change are destroyed
};

}  // namespace pipeloom::gui
