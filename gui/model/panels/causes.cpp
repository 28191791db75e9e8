#include "gui/model/panels/causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "gui/model/chart/chart_words.hpp"
#include "gui/model/chart/op_walk.hpp"
#include "gui/model/chart/select.hpp"
#include "sim/base/number_text.hpp"
#include "sim/memory.hpp"
#include "study/report/metric.hpp"
#include "study/run/messages.hpp"

namespace pipeloom::gui {
namespace {

constexpr IdleCause kAllCauses[] = {IdleCause::Warmup,   IdleCause::Cooldown, IdleCause::Imbalance,
                                    IdleCause::Transfer, IdleCause::Queueing, IdleCause::Memory};

/// The longest kMaxGaps so far; the shortest of them is on top of the heap.
class LongestGaps {
 public:
  void add(Ticks length, GapRef gap) {
    const Entry entry{length, -gap.rank.value(), gap.span};
    if (kept_.size() == kMaxGaps && !before(entry, kept_.front())) return;
    if (kept_.size() == kMaxGaps) {
      std::pop_heap(kept_.begin(), kept_.end(), before);
      kept_.pop_back();
    }
    kept_.push_back(entry);
    std::push_heap(kept_.begin(), kept_.end(), before);
  }
  [[nodiscard]] std::vector<GapRef> take(std::uint64_t run) {
    std::sort(kept_.begin(), kept_.end(), before);
    std::vector<GapRef> gaps;
    gaps.reserve(kept_.size());
    for (const Entry& entry : kept_) gaps.push_back({run, Rank(-entry.minus_rank), entry.span});
    return gaps;
  }

 private:
  struct Entry {
    Ticks length;
    std::int32_t minus_rank;
    std::size_t span;
  };
  static bool before(const Entry& a, const Entry& b) {
    return std::tuple(-a.length, -a.minus_rank, a.span) < std::tuple(-b.length, -b.minus_rank, b.span);
  }
  std::vector<Entry> kept_;
};

std::string shown_text(const study::Metric& metric, const study::MetricValue& value, const RunModel& run) {
  if (metric.unit == study::Unit::Ratio) return percent_text(std::get<double>(value));
  if (metric.unit == study::Unit::PerSecond) return study::rate_text(std::get<double>(value));
  const auto number = static_cast<Ticks>(std::get<TickSum>(value).value());
  if (metric.unit == study::Unit::Time) return duration_text(number, run.timeline.unit);
  return (run.memory ? memory_text(*run.memory, number) : bytes_text(number)) + " on rank " +
         std::to_string(run.metrics->peak_rank.value());
}

/// Adds the distance of the run from the lower bound.
void add_gap(const Metrics& m, std::vector<MetricLine>& lines) {
  // The bound is on the makespan, or on the step's period where steps overlap.
  const Ticks bounded = m.step_time > 0 ? m.step_time : m.makespan;
  if (m.lower_bound.value > 0)
    lines.push_back({"gap to bound",
                     percent_text(static_cast<double>(bounded - m.lower_bound.value) /
                                  static_cast<double>(m.lower_bound.value)),
                     "How much slower than the lower bound this run is."});
}

void add_simulated(const RunModel& run, std::vector<MetricLine>& lines) {
  const Metrics& m = *run.metrics;
  const study::RunNumbers numbers = study::numbers_of(run);
  for (const study::Metric* metric : study::listed(&study::Metric::facts)) {
    const auto value = metric->get(numbers);
    const bool same = metric->name == "step_time" && m.step_time == m.makespan;
    if (!value || same || (metric->unit == study::Unit::Bytes && m.ranks.empty())) continue;
    std::string sentence(metric->sentence);
    if (metric->which != nullptr) sentence += fmt::format(" ({}).", metric->which(numbers));
    lines.push_back({std::string(metric->label), shown_text(*metric, *value, run), std::move(sentence)});
    if (metric->name == "lower_bound") add_gap(m, lines);
  }
}

void add_messages(const RunModel& run, std::vector<MetricLine>& lines) {
  if (!run.messages) return;
  const study::MessageSummary& m = *run.messages;
  const TimeUnit unit = run.timeline.unit;
  lines.push_back({"messages", std::to_string(m.totals.count) + ", " + m.plan,
                   "Activations and gradients between ranks, and how they are sent."});
  lines.push_back({"exposed messages", duration_text(m.totals.exposed, unit),
                   "What ranks waited for transfers and queues, in sum."});
  if (m.lost_to_queues > 0)
    lines.push_back({"lost to queues", duration_text(m.lost_to_queues, unit),
                     "How much shorter the makespan would be if no message waited behind another."});
}

}  // namespace

CausesSummary summarise_causes(const RunModel& run) {
  CausesSummary out;
  out.run = run.id;
  out.of_rank.resize(run.idle.size());
  LongestGaps longest;
  for (std::size_t rank = 0; rank < run.idle.size(); ++rank) {
    IdleCauses& causes = out.of_rank[rank];
    for (std::size_t i = 0; i < run.idle[rank].size(); ++i) {
      const IdleSpan& gap = run.idle[rank][i];
      causes.of(gap.cause) += gap.end - gap.start;
      longest.add(gap.end - gap.start, {run.id, Rank(static_cast<std::int32_t>(rank)), i});
    }
    out.num_gaps += run.idle[rank].size();
    out.most_of_rank = std::max(out.most_of_rank, causes.total());
    out.total += causes;
  }
  out.longest = longest.take(run.id);
  return out;
}

std::vector<MetricLine> metric_lines(const RunModel& run, const CausesSummary& causes) {
  std::vector<MetricLine> lines;
  const TimeUnit unit = run.timeline.unit;
  const Span span = span_of(run.timeline);
  if (run.metrics) {
    add_simulated(run, lines);
  } else {
    const study::Metric& makespan = *study::metric_named("makespan");
    lines.push_back(
        {std::string(makespan.label), duration_text(span.length(), unit), std::string(makespan.sentence)});
    if (span.length() > 0) {
      const study::Metric& ratio = *study::metric_named("bubble_ratio");
      const double all = static_cast<double>(span.length()) * run.ranks();
      lines.push_back({std::string(ratio.label),
                       percent_text(static_cast<double>(causes.total.total()) / all),
                       std::string(ratio.sentence)});
    }
  }
  add_messages(run, lines);
  lines.push_back({"ops", std::to_string(run.timeline.start.size()), "Forwards, backwards and all others."});
  return lines;
}

std::string_view explanation_of(IdleCause cause) {
  switch (cause) {
    case IdleCause::Warmup:
      return "The rank waits for its first gradients: the pipeline fills.";
    case IdleCause::Cooldown:
      return "The rank has no forwards left: the pipeline drains.";
    case IdleCause::Imbalance:
      return "In between, it waits for a rank that is not done yet.";
    case IdleCause::Transfer:
      return "What it waits for is done, and on its way.";
    case IdleCause::Queueing:
      return "A message waits for the link, or behind another message.";
    case IdleCause::Memory:
      return "It waits for memory: for a copy to or from the host, or for room.";
  }
  return "";
}

std::vector<RootLine> root_lines(const RunRoots& roots) {
  TickSum all;
  for (const RootCause& root : roots.causes) all += root.amount;
  std::vector<RootLine> lines;
  const RunModel& run = *roots.run;
  for (const RootCause& root : roots.causes)
    lines.push_back({short_text(root, *run.schedule), long_text(root, *run.schedule), root.amount,
                     share_of(root.amount, all)});
  return lines;
}

RunPtr CausesModel::run(const Session& session) const {
  const OpenRun* open = summary_ ? session.find_run(summary_->run) : nullptr;
  return open == nullptr ? nullptr : open->run;
}

const std::string& CausesModel::gap_text(Session& session, std::size_t i) {
  auto& [text, complete] = texts_[i];
  if (complete) return text;
  const RunPtr of = run(session);
  if (of == nullptr) return text;
  const GapRef& gap = summary_->longest[i];
  const IdleSpan& span = of->idle[gap.rank.at()][gap.span];
  if (text.empty())
    text = duration_text(span.end - span.start, of->timeline.unit) + ", " + std::string(name_of(span.cause));
  // In a run that hangs, the ops that ended do not tell what the others wait for.
  complete = of->hang.has_value();
  if (complete) return text;
  const RunRoots* const roots = session.part<Roots>().find(session, of);
  const OpWalk* const walk = session.part<OpWalks>().find(session, of);
  complete = walk != nullptr && (roots != nullptr || !has_roots(*of));
  if (complete)
    text = to_text(cause_of(*walk, *of, gap), *of,
                   roots != nullptr ? roots->finder.of(gap.rank, span) : std::vector<RootCause>());
  return text;
}

bool CausesModel::select(Session& session, std::size_t i) const {
  if (run(session) == nullptr || i >= summary_->longest.size()) return false;
  select_gap(session, summary_->longest[i], Reveal::Yes);
  return true;
}

void CausesModel::take_roots(Session& session) {
  const RunRoots* const roots = session.part<Roots>().find(session, session.runs[session.active].run);
  // Until those of this run are found, those of the previous run stay, as everything here does.
  if (roots == nullptr && has_roots(*session.active_run())) return;
  const std::uint64_t of = roots == nullptr ? 0 : roots->run->id;
  if (std::exchange(roots_of_, of) == of) return;
  roots_ = roots == nullptr ? std::vector<RootLine>() : root_lines(*roots);
}

bool CausesModel::update(Session& session) {
  const RunModel* now = session.active_run();
  if (now == nullptr) {
    const bool had = summary_ != nullptr;
    asked_ = 0;
    summary_ = nullptr;
    metrics_.clear();
    roots_.clear();
    roots_of_ = 0;
    return had;
  }
  take_roots(session);
  if (asked_ == now->edition()) return false;
  asked_ = now->edition();
  session.jobs.submit("causes",
                      [&session, run = session.runs[session.active].run](const Cancelled&) -> Jobs::Finish {
                        auto summary = std::make_shared<const CausesSummary>(summarise_causes(*run));
                        return [&session, run, summary] {
                          auto& model = session.part<CausesModel>();
                          if (model.asked_ != run->edition()) return;
                          model.summary_ = summary;
                          model.metrics_ = metric_lines(*run, *summary);
                          model.texts_.assign(summary->longest.size(), {"", false});
                        };
                      });
  return false;
}

void CausesModel::write_state(const Session& session, io::JsonWriter& out) const {
  const RunPtr of = run(session);
  if (of == nullptr) {
    out.null();
    return;
  }
  const auto time = [&](TickSum ticks) { return to_double(ticks, of->timeline.unit); };
  out.object().member("gaps", summary_->num_gaps);
  out.key("largest");
  if (summary_->longest.empty()) {
    out.null();
  } else {
    const GapRef& gap = summary_->longest.front();
    const IdleSpan& span = of->idle[gap.rank.at()][gap.span];
    out.object()
        .member("cause", name_of(span.cause))
        .member("end", time(span.end))
        .member("length", time(span.end - span.start))
        .member("rank", gap.rank.value())
        .member("span", gap.span)
        .member("start", time(span.start))
        .member("text", texts_.front().first)
        .close();
  }
  std::map<std::string_view, double> total{{"idle", time(summary_->total.total())}};
  for (const IdleCause cause : kAllCauses) total[name_of(cause)] = time(summary_->total.of(cause));
  out.member("total", total).key("roots").array();
  for (const RootLine& line : roots_)
    out.object()
        .member("amount", time(line.amount))
        .member("share", line.share)
        .member("text", line.text)
        .member("what", line.what)
        .close();
  out.close().close();
}

}  // namespace pipeloom::gui
