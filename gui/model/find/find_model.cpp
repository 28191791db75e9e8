#include "gui/model/find/find_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include <pipeloom/error.hpp>
#include "gui/model/answer/snapshots.hpp"
#include "gui/model/run/build_run.hpp"
#include "sim/base/text_tools.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::gui {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kLimitKey = "memory.limit_bytes";
constexpr std::chrono::milliseconds kEvery{100};  // between two looks at how far it is
constexpr int kMostThreads = 4;                   // of a search

/// The window keeps one core.
int search_threads() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()) - 1, 1, kMostThreads);
}

void set_limit(Session& session, std::string_view value) {
  auto& config = session.part<ConfigModel>();
  if (value == "none" || value.empty())
    config.reset(session, kLimitKey);
  else
    config.set(session, kLimitKey, std::string(value));
}

/// The run under edit is kept, unless it is already, or there is nothing to keep.
void keep_present(Session& session) {
  auto& snapshots = session.part<Snapshots>();
  if (session.part<ConfigModel>().pending()) return;
  for (const OpenRun& open : session.runs) {
    if (!open.live || open.run->hang) continue;
    const auto kept = [&](const Snapshot& one) { return one.run->id == open.run->id; };
    if (std::ranges::none_of(snapshots.all(), kept)) return snapshots.take(session, "");
  }
}

}  // namespace

FindModel::FindModel(Session& session) : wake_([&session] { session.wake(); }), jobs_(wake_) {}

study::VarySet FindModel::vary(Session& session) const {
  return question_.vary ? *question_.vary : usual_vary(session.part<ConfigModel>().assignments());
}

void FindModel::set(Session& session, std::string_view text) {
  const std::size_t blank = std::min(text.find(' '), text.size());
  const std::string_view key = text.substr(0, blank);
  const std::string_view value = trimmed(text.substr(blank));
  if (key == "limit") return set_limit(session, value);
  set_part(question_, key, value);
}

void FindModel::flip(Session& session, study::Vary vary) {
  const study::VarySet before = this->vary(session);
  study::VarySet after;
  for (const study::Vary one : kVaryWords)
    if (before.has(one) != (one == vary)) after.add(one);
  question_.vary = after;
}

void FindModel::start(Session& session) {
  const auto& config = session.part<ConfigModel>();
  if (const std::string lack = lack_of(question_.objective, config.assignments()); !lack.empty())
    throw InputError(Where{"find"},
                     fmt::format("{} {}; take another objective", word_of(question_.objective).label, lack));
  session.show_panel("find");
  if (running_) end();
  study::PlanOptions options;
  options.objective = question_.objective;
  options.vary = vary(session);
  options.target = question_.target;
  options.seconds = question_.seconds;
  options.threads = search_threads();
  const Assignments workload = with_shape(session, config.assignments());
  revision_ = config.revision();
  began_ = Clock::now();
  running_ = true;
  shared_ = std::make_shared<Shared>();
  jobs_.submit(
      "find",
      [this, &session, workload, options, shared = shared_](const Cancelled& cancelled) -> Jobs::Finish {
        return [this, &session, workload, answer = seek(workload, options, *shared, cancelled)] {
          take(session, answer);
        };
      });
}

FindModel::Answer FindModel::seek(const Assignments& workload, study::PlanOptions options, Shared& shared,
                                  const Cancelled& cancelled) const {
  auto next = Clock::now();
  options.progress = [&](const std::string& doing, const std::string& best) {
    if (const auto now = Clock::now(); now >= next) {
      next = now + kEvery;
      {
        const std::lock_guard lock(shared.mutex);
        shared.doing = doing;
        shared.best = best;
      }
      wake_();
    }
    return !shared.ended && !cancelled;
  };
  try {
    return {std::make_shared<const study::Plan>(
                study::make_plan(config_of(workload), options, window_limits(cancelled))),
            ""};
  } catch (const Error& error) {
    return {nullptr, error.line()};
  } catch (const Stopped& stopped) {
    return {nullptr, stopped.what()};
  } catch (const std::bad_alloc&) {
    return {nullptr, "error: out of memory; let less vary"};
  }
}

void FindModel::take(Session& session, Answer answer) {
  running_ = false;
  problem_ = std::move(answer.problem);
  picture_ = {};
  rows_.clear();
  plan_ = std::move(answer.plan);
  if (plan_) {
    rows_ = rows_of(*plan_);
    picture_ = FindPicture(*plan_, rows_);
    if (plan_->candidates.empty())
      problem_ = "Nothing fits under the limit: the table of schedules says what is missing.";
  }
  auto& table = session.part<ScheduleTable>();
  table.show_found(found_schedules(rows_));
}

void FindModel::end() const {
  if (shared_) shared_->ended = true;
}

void FindModel::stop(Session&) {
  end();
  to_activate_.clear();
}

std::string FindModel::progress_text() const {
  if (!running_) return "";
  std::string doing;
  std::string best;
  {
    const std::lock_guard lock(shared_->mutex);
    doing = shared_->doing;
    best = shared_->best;
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  std::string time = fmt::format("{:.0f} s", seconds);
  if (doing.empty()) return time;
  return best.empty() ? fmt::format("{}, {}", doing, time) : fmt::format("{}: {}, {}", doing, best, time);
}

std::string FindModel::counts_text() const {
  if (!plan_) return "";
  std::string out = study::count_text(plan_->candidates.size());
  out += plan_->candidates.size() == 1 ? " fits" : " fit";
  if (!plan_->over.empty()) out += fmt::format(", {} over the limit", plan_->over.size());
  const std::size_t others = plan_->rejected.size() - plan_->over.size();
  return others == 0 ? out : out + fmt::format(", {} cannot run", others);
}

bool FindModel::has(std::string_view name) const {
  return std::ranges::any_of(rows_, [&](const FindRow& one) { return one.row.name == name; });
}

void FindModel::show(Session& session, std::string_view name) {
  const auto found = std::ranges::find_if(rows_, [&](const FindRow& one) { return one.row.name == name; });
  if (found == rows_.end())
    throw InputError(Where{"show-found"},
                     fmt::format("the search found no '{}'; run it again", shortened(name, 80)));
  if (found->candidate->searched()) {
    to_activate_ = name;
    return session.part<ScheduleTable>().tick(session, to_activate_, true);
  }
  keep_present(session);
  session.part<ConfigModel>().replace(session, study::assignments_of(found->candidate->config));
}

bool FindModel::update(Session& session) {
  bool changed = jobs_.poll();
  stale_ = plan_ && session.part<ConfigModel>().revision() != revision_;
  const std::string progress = progress_text();
  changed = std::exchange(shown_progress_, progress) != progress || changed;
  if (to_activate_.empty()) return changed;
  const std::uint64_t run = session.part<ScheduleTable>().run_of(to_activate_);
  for (std::size_t i = 0; i < session.runs.size(); ++i)
    if (run != 0 && session.runs[i].run->id == run) {
      session.active = i;
      to_activate_.clear();
      return true;
    }
  return changed;
}

void FindModel::write_state(const Session&, io::JsonWriter& out) const {
  out.object()
      .member("running", running_)
      .member("objective", study::name_of(question_.objective))
      .member("vary", question_.vary ? vary_text(*question_.vary) : "usual")
      .member("budget", question_.seconds)
      .member("target", question_.target == nullptr ? kAnyTarget : question_.target->name)
      .member("problem", problem_)
      .member("stale", stale_)
      .key("winner");
  plan_ && !plan_->candidates.empty() ? out.text(rows_.front().row.name) : out.null();
  out.key("front").array();
  if (plan_)
    for (const std::size_t i : plan_->pareto) out.text(rows_[i].row.name);
  out.close().key("rows").array();
  for (const FindRow& one : rows_)
    out.object()
        .member("name", one.row.name)
        .member("step_time", to_double(one.row.step_time, one.row.unit))
        .member("peak_bytes", one.row.held)
        .member("fits", one.row.fits())
        .member("front", one.front)
        .close();
  out.close().close();
}

}  // namespace pipeloom::gui
