#include "gui/model/answer/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <variant>

#include <pipeloom/error.hpp>
#include "gui/model/answer/explain_model.hpp"
#include "gui/model/chart/chart_words.hpp"
#include "gui/model/chart/op_walk.hpp"
#include "gui/model/chart/pressed_rank.hpp"
#include "gui/model/edit/config_model.hpp"
#include "schedules/generator.hpp"
#include "sim/analysis/idle_causes.hpp"
#include "sim/analysis/metrics.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/kinds.hpp"
#include "sim/memory.hpp"
#include "study/report/metric.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::gui {
namespace {

/// Runs with more ops are not simulated a second time for a sentence.
constexpr std::size_t kMostSimulated = 2'000'000;
/// Work that is so near to the most is as much.
constexpr double kAsMuch = 0.99;
/// More places than these are counted, not listed.
constexpr std::size_t kMostListed = 3;

/// The work of each stage, or of each rank, in a step.
std::vector<double> work_of(const RunModel& run, bool of_stages) {
  const Schedule& schedule = *run.schedule;
  std::vector<double> work(static_cast<std::size_t>(of_stages ? schedule.stages() : schedule.ranks()), 0);
  const auto ops = schedule.ops();
  for (int rank = 0; rank < schedule.ranks(); ++rank) {
    for (std::size_t i = schedule.queue_begin(Rank(rank)); i < schedule.queue_end(Rank(rank)); ++i) {
      if (is_copy(ops[i].kind())) continue;  // they run at the same time as a rank's work
      const Ticks takes =
          run.costs ? run.costs->op_duration(schedule, i) : run.timeline.end[i] - run.timeline.start[i];
      work[of_stages ? ops[i].stage().at() : static_cast<std::size_t>(rank)] += static_cast<double>(takes);
    }
  }
  return work;
}

/// Each kind takes as long on every stage as it takes on average.
Costs equal_costs(const Costs& costs) {
  Costs equal = costs;
  for (std::vector<Ticks>& of_slot : equal.duration) {
    if (of_slot.empty()) continue;
    const Ticks sum = std::accumulate(of_slot.begin(), of_slot.end(), Ticks{0});
    std::fill(of_slot.begin(), of_slot.end(), sum / static_cast<Ticks>(of_slot.size()));
  }
  return equal;
}

/// True if durations follow from tables by stage alone, and messages from latencies.
bool can_be_equal(const RunModel& run) {
  return run.simulated() && run.costs && run.memory && run.metrics && !run.program && !run.hang &&
         run.costs->per_op.empty() && run.costs->overlap.rule != OverlapRule::Explicit &&
         run.schedule->num_ops() <= kMostSimulated;
}

std::optional<Ticks> step_when_equal(const RunModel& run) {
  if (!can_be_equal(run)) return std::nullopt;
  const Costs equal = equal_costs(*run.costs);
  const Steps once{run.effective->step.rule, run.effective->step.optimizer, 1};
  const Timeline timeline = simulate(run.schedule, equal, once);
  return measure_times(timeline, equal, *run.memory, once).step_time;
}

std::string places_text(const Bottleneck& bottleneck) {
  const std::string noun = bottleneck.of_stages ? "stage" : "rank";
  const std::vector<int>& places = bottleneck.places;
  if (places.size() > kMostListed) return fmt::format("{} {}s", places.size(), noun);
  if (places.size() == 1) return fmt::format("{} {}", noun, places.front());
  const std::vector<int> before(places.begin(), places.end() - 1);
  return fmt::format("{}s {} and {}", noun, fmt::join(before, ", "), places.back());
}

std::string capitalised(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') text.front() += 'A' - 'a';
  return text;
}

CauseSums causes_of(const RunModel& run) {
  CauseSums sums;
  for (const std::vector<IdleSpan>& of_rank : run.idle)
    for (const IdleSpan& gap : of_rank) sums.of(gap.cause) += gap.end - gap.start;
  return sums;
}

void tell_idle(const RunModel& run, RunAnswer& out) {
  const CauseSums sums = causes_of(run);
  const double total = static_cast<double>(sums.total());
  const double all = static_cast<double>(span_of(run.timeline).length()) * run.ranks();
  out.bubble_ratio = run.metrics ? run.metrics->bubble_ratio : all > 0 ? total / all : 0;
  if (total <= 0) return;
  for (std::size_t i = 0; i < kIdleCauses; ++i)
    out.shares[i] = static_cast<double>(sums.of(static_cast<IdleCause>(i))) / total;
  const auto largest = std::max_element(out.shares.begin(), out.shares.end());
  out.largest_cause = static_cast<IdleCause>(largest - out.shares.begin());
}

std::optional<PeakAnswer> peak_answer(const RunModel& run) {
  const std::optional<Rank> rank = pressed_rank(run);
  if (!rank) return std::nullopt;
  const MemoryModel& memory = *run.memory;
  PeakAnswer out;
  out.rank = *rank;
  out.held = run.metrics->ranks[out.rank.at()].memory.peak_bytes;
  out.limit = memory.limit_of(out.rank);
  out.held_text = memory_cell(memory, out.held);
  out.held_bytes = memory.in_bytes(out.held);
  if (out.limit) out.limit_bytes = memory.in_bytes(*out.limit);
  const bool counted = counts_activations(memory);
  if (!out.limit)
    out.note = counted ? "activations" : "no limit given";
  else if (out.fits())
    out.note = fmt::format("fits {}, {} free", memory_cell(memory, *out.limit),
                           memory_cell(memory, *out.limit - out.held));
  else
    out.note = fmt::format("needs {} more than {}", memory_cell(memory, out.held - *out.limit),
                           memory_cell(memory, *out.limit));
  return out;
}

void tell_metrics(const RunModel& run, RunAnswer& out) {
  const Metrics& metrics = *run.metrics;
  out.step_time = metrics.step_time > 0 ? metrics.step_time : metrics.makespan;
  out.lower_bound = metrics.lower_bound.value;
  if (!run.effective || out.lower_bound == 0) return;
  const study::RunNumbers numbers = study::numbers_of(run);
  const study::Metric& bounded = study::bounded_metric(run.effective->step);
  if (const auto value = bounded.get(numbers))
    out.gap = static_cast<double>(std::get<TickSum>(*value)) / static_cast<double>(out.lower_bound) - 1;
  if (const auto rate = study::metric_named("tokens_per_s")->get(numbers))
    out.tokens_per_s = std::get<double>(*rate);
}

/// Without flushes several updates share a makespan: a step is one of them.
double step_of(const ScheduleRow& row) {
  return static_cast<double>(row.step_time) / row.updates;
}

bool has_numbers(const ScheduleRow& row) {
  return row.refusal.empty() && !row.stale && row.step_time > 0;
}

/// The fastest of the rows that fit, or of the others, that saves this part of the step at least; null if there is none.
const ScheduleRow* fastest(std::span<const ScheduleRow> rows, const ScheduleRow& now, bool fitting,
                           double saving = kWorthShowing) {
  const ScheduleRow* best = nullptr;
  for (const ScheduleRow& row : rows) {
    const bool same_meaning = row.updates == 1 || now.updates > 1;
    if (!has_numbers(row) || row.found || !same_meaning || row.fits() != fitting || row.name == now.name)
      continue;
    if (step_of(row) >= step_of(now) || step_of(row) > step_of(now) * (1 - saving)) continue;
    const auto key = [](const ScheduleRow& each) { return std::pair(step_of(each), each.held); };
    if (best == nullptr || key(row) < key(*best)) best = &row;
  }
  return best;
}

/// "with 6.0 GB instead of 4.2 GB", where it holds more.
std::string memory_price(const ScheduleRow& row, const ScheduleRow& now) {
  if (row.held <= now.held) return "";
  return fmt::format(", holding {} instead of {}", row.held_text, now.held_text);
}

void write_cause(io::JsonWriter& out, const std::optional<CauseAnswer>& cause, TimeUnit unit) {
  if (!cause) {
    out.null();
    return;
  }
  out.object()
      .member("kind", name_of(cause->kind))
      .member("what", cause->what)
      .member("amount", to_double(cause->amount, unit))
      .member("share", cause->share)
      .member("rank", cause->rank.value())
      .key("op");
  cause->op.empty() ? out.null() : out.text(cause->op);
  out.close();
}

std::string missing_text(const ScheduleRow& row) {
  std::string text = row.headroom_text;
  if (text.starts_with('-')) text.erase(0, 1);
  return fmt::format("{} would need {} more.", row.name, text);
}

}  // namespace

std::optional<Bottleneck> find_bottleneck(const RunModel& run) {
  Bottleneck out;
  out.of_stages = run.schedule->stages() == run.schedule->ranks();
  const std::vector<double> work = work_of(run, out.of_stages);
  if (work.size() < 2) return std::nullopt;
  const double most = *std::max_element(work.begin(), work.end());
  const double sum = std::accumulate(work.begin(), work.end(), 0.0);
  if (most <= 0 || most <= (1 + kUnequal) * sum / static_cast<double>(work.size())) return std::nullopt;
  double others = sum;
  for (std::size_t i = 0; i < work.size(); ++i)
    if (work[i] >= kAsMuch * most) {
      out.places.push_back(static_cast<int>(i));
      others -= work[i];
    }
  const double count = static_cast<double>(work.size() - out.places.size());
  if (others <= 0) return std::nullopt;  // the others do nothing at all: there is no ratio
  out.ratio = most / (others / count);
  out.when_equal = step_when_equal(run);
  return out;
}

std::string bottleneck_text(const std::optional<Bottleneck>& bottleneck, bool of_stages, TimeUnit unit) {
  if (!bottleneck) return of_stages ? "Equal stages: no rank stands out." : "Equal work: no rank stands out.";
  const bool one = bottleneck->places.size() == 1;
  std::string text = fmt::format("{} {} {:.2g} x the others", capitalised(places_text(*bottleneck)),
                                 one ? "is" : "are", bottleneck->ratio);
  if (bottleneck->when_equal)
    text += fmt::format("; with equal stages {}", study::time_with_unit(*bottleneck->when_equal, unit));
  return text + ".";
}

RunAnswer answer_of(const RunModel& run) {
  RunAnswer out;
  out.run = run.id;
  out.unit = run.timeline.unit;
  out.hangs = run.hang.has_value();
  out.cut = run.cut;
  if (!run.partial.empty())
    out.incomplete = fmt::format("{}: {}.", capitalised(run.partial),
                                 run.cut ? "the step is not whole" : "shown are the steps that are whole");
  out.step_time = span_of(run.timeline).length();
  tell_idle(run, out);
  if (run.metrics) tell_metrics(run, out);
  out.peak = peak_answer(run);
  if (out.hangs)
    out.bottleneck = "Ranks wait for each other: it never ends.";
  else if (!out.cut)
    out.bottleneck =
        bottleneck_text(find_bottleneck(run), run.schedule->stages() == run.schedule->ranks(), out.unit);
  return out;
}

std::optional<CauseAnswer> cause_answer(const RunRoots& roots) {
  if (roots.causes.empty()) return std::nullopt;
  const RunModel& run = *roots.run;
  const RootCause& root = roots.causes.front();
  TickSum all;
  for (const RootCause& one : roots.causes) all += one.amount;
  CauseAnswer out{root.kind,   short_text(root, *run.schedule), long_text(root, *run.schedule),
                  root.amount, share_of(root.amount, all),      root.at,
                  ""};
  if (root.op != RootCause::kNoOp) {
    out.rank = rank_at(run, root.op);
    out.op = op_name(run, root.op);
  }
  return out;
}

Outlook outlook_of(std::span<const ScheduleRow> rows, std::string_view now) {
  const auto found = std::find_if(
      rows.begin(), rows.end(), [&](const ScheduleRow& row) { return row.name == now && has_numbers(row); });
  if (found == rows.end()) return {};
  const bool limited = found->headroom.has_value();
  if (const ScheduleRow* better = fastest(rows, *found, true)) {
    const double saves = 1 - step_of(*better) / step_of(*found);
    return {Suggestion{better->name, saves},
            fmt::format("{} {}takes {} less time{}", better->name, limited ? "fits and " : "",
                        percent_text(saves), limited ? "" : memory_price(*better, *found))};
  }
  const bool by_little = fastest(rows, *found, true, 0) != nullptr;
  Outlook out{std::nullopt,
              fmt::format("{} is faster{}.", limited ? "Nothing that fits" : "No other schedule",
                          by_little ? " by " + percent_text(kWorthShowing) + " or more" : "")};
  if (const ScheduleRow* larger = fastest(rows, *found, false)) out.text += " " + missing_text(*larger);
  return out;
}

bool AnswerModel::shows_suggestion(Session& session) const {
  return outlook_.better && session.part<ScheduleTable>().ticked(outlook_.better->schedule);
}

void AnswerModel::show_suggestion(Session& session) {
  if (!outlook_.better) throw InputError(Where{"show-suggestion"}, "there is no better schedule to show");
  const std::string schedule = outlook_.better->schedule;
  if (!shows_suggestion(session)) return session.part<ScheduleTable>().tick(session, schedule, true);
  session.part<ScheduleTable>().tick(session, schedule, false);
  auto& config = session.part<ConfigModel>();
  config.replace(session, with_schedule(with_shape(session, config.assignments()), schedule));
}

void AnswerModel::ask(Session& session) {
  const RunModel* now = session.active_run();
  const std::uint64_t edition = now == nullptr ? 0 : now->edition();
  if (std::exchange(asked_, edition) == edition) return;
  if (now == nullptr) {
    run_.reset();
    return;
  }
  session.jobs.submit("answer",
                      [&session, run = session.runs[session.active].run](const Cancelled&) -> Jobs::Finish {
                        return [&session, answer = answer_of(*run), edition = run->edition()] {
                          auto& model = session.part<AnswerModel>();
                          if (model.asked_ == edition) model.run_ = answer;
                        };
                      });
}

/// Against the run that others are compared with.
void AnswerModel::compare(const Session& session) {
  change_.reset();
  const RunModel* now = session.active_run();
  if (now == nullptr || session.runs.size() < 2 || !run_ || run_->run != now->id) return;
  const RunModel& baseline = *session.baseline_run()->run;
  const bool comparable =
      (baseline.timeline.unit == TimeUnit::Unit) == (now->timeline.unit == TimeUnit::Unit);
  const double before = static_cast<double>(baseline.metrics && baseline.metrics->step_time > 0
                                                ? baseline.metrics->step_time
                                                : span_of(baseline.timeline).length());
  if (now->hang || baseline.hang || now->cut || baseline.cut || baseline.id == now->id || !comparable ||
      before <= 0)
    return;
  change_ = static_cast<double>(run_->step_time) / before - 1;
  baseline_ = session.baseline_run()->title();
}

/// "Comparing 30 schedules (7 done)": how far the table is.
std::string comparing_text(std::span<const ScheduleRow> rows) {
  const auto done =
      std::ranges::count_if(rows, [](const ScheduleRow& row) { return !row.found && !row.stale; });
  return fmt::format("Comparing {} schedules ({} done)", schedules::all().size(), done);
}

/// Finds the outlook of the run under edit, from the table of schedules, if that run ends.
void AnswerModel::look_around(Session& session) {
  const bool live = session.active < session.runs.size() && session.runs[session.active].live &&
                    !session.runs[session.active].run->hang;
  const std::uint64_t run = live ? session.runs[session.active].run->id : 0;
  const auto& table = session.part<ScheduleTable>();
  const std::uint64_t revision = table.complete_revision();
  if (looked_run_ == run && looked_revision_ == revision && revision != 0) return;
  looked_run_ = run;
  looked_revision_ = revision;
  outlook_ = {};
  if (run == 0) return;
  if (revision == 0)
    outlook_.text = comparing_text(table.rows());
  else
    outlook_ = outlook_of(table.rows(), session.part<ConfigModel>().value("schedule"));
}

void AnswerModel::find_cause(Session& session) {
  const RunModel* const now = session.active_run();
  const RunRoots* const roots =
      now == nullptr ? nullptr : session.part<Roots>().find(session, session.runs[session.active].run);
  // Until that of this run is found, that of the previous run stays, as the numbers do.
  if (roots == nullptr && now != nullptr && has_roots(*now)) return;
  const std::uint64_t of = roots == nullptr ? 0 : roots->run->id;
  if (std::exchange(cause_of_, of) != of) cause_ = roots == nullptr ? std::nullopt : cause_answer(*roots);
}

/// Asks once for each configuration of a model, when the table of schedules is complete: that comes first.
void AnswerModel::find_spare(Session& session) {
  const auto& config = session.part<ConfigModel>();
  const std::uint64_t revision = session.part<ScheduleTable>().complete_revision();
  if (config.revision() != spare_revision_) spare_.reset();
  if (revision == 0 || spare_revision_ == revision || !config.is_set("costs.model")) return;
  spare_revision_ = revision;
  session.jobs.submit(
      "answer/spare",
      [this, revision, now = config.assignments()](const Cancelled& cancelled) -> Jobs::Finish {
        return [this, revision, found = use_of_spare(now, cancelled)] {
          if (spare_revision_ == revision) spare_ = found;
        };
      });
}

void AnswerModel::use_spare(Session& session) {
  if (!spare_) throw InputError(Where{"use-spare-memory"}, "no change that uses free memory is known");
  session.part<ConfigModel>().replace(session, spare_->config);
}

void AnswerModel::look_at_explanation(Session& session) {
  const auto& explanation = session.part<ExplainModel>();
  const RunModel* const now = session.active_run();
  const bool measured = now != nullptr && now->id == explanation.measured();
  why_ = measured ? explanation.why() : std::string();
}

bool AnswerModel::update(Session& session) {
  if (!session.panel_open("answer")) return false;
  ask(session);
  find_cause(session);
  compare(session);
  look_around(session);
  find_spare(session);
  look_at_explanation(session);
  return false;
}

void AnswerModel::write_state(const Session&, io::JsonWriter& out) const {
  if (!run_) {
    out.null();
    return;
  }
  const RunAnswer& run = *run_;
  const auto number = [&out](std::string_view key, const std::optional<double>& value) {
    out.key(key);
    value ? out.number(*value) : out.null();
  };
  out.object().member("step_time", to_double(run.step_time, run.unit));
  number("tokens_per_s", run.tokens_per_s);
  number("change", change_);
  out.member("bubble_ratio", run.bubble_ratio).key("largest_cause");
  if (cause_)
    out.text(cause_->text);
  else
    run.largest_cause ? out.text(std::string(name_of(*run.largest_cause))) : out.null();
  write_cause(out.key("cause"), cause_, run.unit);
  number("peak_bytes", run.peak ? std::optional(run.peak->held_bytes) : std::nullopt);
  out.key("peak_rank");
  run.peak ? out.number(run.peak->rank.value()) : out.null();
  number("limit_bytes", run.peak ? run.peak->limit_bytes : std::nullopt);
  out.member("fits", !run.peak || run.peak->fits());
  number("gap", run.gap);
  const std::string between = outlook_.text.empty() ? "" : outlook_.text.ends_with('.') ? " " : ". ";
  out.member("why", why_).key("spare");
  spare_ ? out.text(spare_->text) : out.null();
  out.member("text", outlook_.text + between + run.bottleneck).key("suggestion");
  if (outlook_.better)
    out.object()
        .member("schedule", outlook_.better->schedule)
        .member("saves", outlook_.better->saves)
        .close();
  else
    out.null();
  out.close();
}

}  // namespace pipeloom::gui
