#include "gui/model/panels/search.hpp"

#include <algorithm>
#include <utility>

#include <pipeloom/error.hpp>
#include "gui/model/chart/chart_part.hpp"
#include "gui/model/chart/select.hpp"
#include "gui/model/run/build_run.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::gui {
namespace {

/// The inputs of a search other than its text: the runs, whose unit bare times have.
std::vector<std::uint64_t> runs_on_screen(const Session& session) {
  std::vector<std::uint64_t> ids;
  for (const OpenRun& open : session.runs) ids.push_back(open.run->edition());
  return ids;
}

struct Task {
  RunPtr run;
  SearchQuery query;
};

/// A text that is wrong for the unit of another run finds nothing there.
std::vector<Task> tasks_of(const Session& session, const std::string& text) {
  std::vector<Task> tasks;
  for (const OpenRun& open : session.runs) {
    try {
      tasks.push_back({open.run, SearchQuery::parse(text, open.run->timeline.unit)});
    } catch (const InputError&) {
      continue;
    }
  }
  return tasks;
}

TimeUnit unit_of_active(const Session& session) {
  const RunModel* run = session.active_run();
  return run == nullptr ? TimeUnit::Unit : run->timeline.unit;
}

}  // namespace

void SearchModel::understand(const Session& session) {
  error_.clear();
  try {
    const SearchQuery query = SearchQuery::parse(text_, unit_of_active(session));
    query_text_ = query.empty() ? "" : text_;
  } catch (const InputError& error) {
    error_ = error.line();
  }
}

void SearchModel::set(Session& session, std::string text) {
  text_ = std::move(text);
  understand(session);
  if (error_.empty()) submit(session);
}

void SearchModel::submit(Session& session) {
  runs_ = runs_on_screen(session);
  if (!active()) {
    session.jobs.cancel("search");
    under_way_ = false;
    pending_step_.reset();
    take(session, {});
    return;
  }
  under_way_ = true;
  session.jobs.submit(
      "search",
      [&session, tasks = tasks_of(session, query_text_)](const Cancelled& cancelled) -> Jobs::Finish {
        std::vector<std::pair<std::uint64_t, Found>> results;
        for (const Task& task : tasks) {
          const std::vector<Ticks> slack =
              task.query.asks_slack() ? run_slack(*task.run) : std::vector<Ticks>();
          results.emplace_back(task.run->id, std::make_shared<const std::vector<std::size_t>>(
                                                 task.query.find(*task.run, slack, cancelled)));
        }
        return [&session, results] { session.part<SearchModel>().take(session, results); };
      });
}

void SearchModel::take(Session& session, const std::vector<std::pair<std::uint64_t, Found>>& results) {
  under_way_ = false;
  ++revision_;
  found_.clear();
  auto& chart = session.part<ChartPart>();
  chart.matches.clear();
  for (const auto& [run, found] : results) {
    found_[run] = found;
    if (session.find_run(run) != nullptr) chart.matches[run] = found;
  }
  if (const auto forward = std::exchange(pending_step_, std::nullopt)) step(session, *forward);
}

Found SearchModel::found(std::uint64_t run) const {
  const auto result = found_.find(run);
  return result == found_.end() ? nullptr : result->second;
}

bool SearchModel::matches(std::uint64_t run, std::size_t position) const {
  const Found positions = found(run);
  return !positions || std::binary_search(positions->begin(), positions->end(), position);
}

std::optional<std::size_t> SearchModel::current(const Session& session) const {
  const RunModel* run = session.active_run();
  const auto& selected = session.selection.op;
  const Found positions = run == nullptr ? nullptr : found(run->id);
  if (!positions || !selected || selected->run != run->id) return std::nullopt;
  const auto at = std::lower_bound(positions->begin(), positions->end(), selected->op);
  if (at == positions->end() || *at != selected->op) return std::nullopt;
  return static_cast<std::size_t>(at - positions->begin());
}

void SearchModel::step(Session& session, bool forward) {
  const RunModel* run = session.active_run();
  if (run == nullptr || !active()) return session.say("nothing is searched for; type a search first");
  if (under_way_) {
    pending_step_ = forward;
    return;
  }
  const Found positions = found(run->id);
  if (!positions || positions->empty())
    return session.say("no op matches '" + shortened(query_text_, 80) + "'");
  const auto& selected = session.selection.op;
  auto next = forward ? positions->begin() : std::prev(positions->end());
  if (selected && selected->run == run->id) {
    const auto upper = std::upper_bound(positions->begin(), positions->end(), selected->op);
    const auto from = std::lower_bound(positions->begin(), positions->end(), selected->op);
    if (forward && upper != positions->end()) next = upper;
    if (!forward && from != positions->begin()) next = std::prev(from);
  }
  select_op(session, {run->id, *next}, Reveal::Yes);
}

bool SearchModel::update(Session& session) {
  if (text_.empty() || runs_on_screen(session) == runs_) return false;
  // The new runs may have another unit of time.
  understand(session);
  submit(session);
  return true;
}

void SearchModel::write_state(const Session& session, io::JsonWriter& out) const {
  const RunModel* run = session.active_run();
  const Found positions = run == nullptr ? nullptr : found(run->id);
  out.object()
      .member("active", active())
      .member("count", positions ? positions->size() : 0)
      .member("current", current(session))
      .member("error", error_)
      .member("text", text_)
      .close();
}

namespace {

using Field = SearchQuery::Field;
using Term = SearchQuery::Term;
/// A byte per op of the block: 1 where it matches.
using Mask = std::vector<std::uint8_t>;
constexpr std::size_t kSearchBlock = 4096;

/// The facts of the run that matching needs, other than op and times.
struct Columns {
  const RunModel& run;
  const std::vector<Ticks>& slack;
  std::span<const Op> ops;
  std::vector<std::int64_t> chunk;     // [slot]
  std::vector<std::uint8_t> critical;  // [op index]
};

/// Consecutive ops of one rank in one step.
struct Block {
  int step = 0;
  Rank rank;
  std::size_t queue_begin = 0;  // op indices
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t offset = 0;  // of the step: position - op index
};

std::vector<std::int64_t> chunks_by_slot(const Placement& placement) {
  std::vector<std::int64_t> chunk(static_cast<std::size_t>(placement.slots()), 0);
  for (Rank rank(0); rank.value() < placement.ranks(); ++rank) {
    Replica replica(-1);
    std::int64_t next = 0;
    for (const Slot slot : placement.slots_of(rank)) {
      if (placement.replica_of(slot) != replica) next = 0;
      replica = placement.replica_of(slot);
      chunk[slot.at()] = next++;
    }
  }
  return chunk;
}

/// mask[i] = 1 if value(op index) of the block's op i lies in one of the ranges.
template <class Value>
void test(const Term& term, const Block& block, Mask& mask, Value&& value) {
  const std::size_t n = block.last - block.first;
  mask.assign(n, 0);
  for (const auto& [low, high] : term.ranges)
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t v = value(block.first + i);
      mask[i] = static_cast<std::uint8_t>(mask[i] | static_cast<std::uint8_t>(v >= low && v <= high));
    }
  if (term.negated)
    for (std::uint8_t& m : mask) m ^= 1U;
}

void test_place(const Columns& c, const Term& term, const Block& block, Mask& mask) {
  const auto ops = c.ops;
  switch (term.field) {
    case Field::Kind:
      return test(term, block, mask,
                  [&](std::size_t i) { return static_cast<std::int64_t>(index_of(ops[i].kind())); });
    case Field::Stage:
      return test(term, block, mask, [&](std::size_t i) { return std::int64_t{ops[i].stage().value()}; });
    case Field::Microbatch:
      return test(term, block, mask,
                  [&](std::size_t i) { return std::int64_t{ops[i].microbatch().value()}; });
    case Field::Slice:
      return test(term, block, mask, [&](std::size_t i) { return std::int64_t{ops[i].slice()}; });
    case Field::Chunk:
      return test(term, block, mask,
                  [&](std::size_t i) { return c.chunk[c.run.schedule->slot_of(ops[i]).at()]; });
    case Field::Rank:
      return test(term, block, mask, [&](std::size_t) { return std::int64_t{block.rank.value()}; });
    default:
      return test(term, block, mask, [&](std::size_t) { return std::int64_t{block.step}; });
  }
}

void test_time(const Columns& c, const Term& term, const Block& block, Mask& mask) {
  const Timeline& timeline = c.run.timeline;
  const std::size_t offset = block.offset;
  switch (term.field) {
    case Field::Start:
      return test(term, block, mask, [&](std::size_t i) { return timeline.start[offset + i]; });
    case Field::End:
      return test(term, block, mask, [&](std::size_t i) { return timeline.end[offset + i]; });
    case Field::Duration:
      return test(term, block, mask,
                  [&](std::size_t i) { return timeline.end[offset + i] - timeline.start[offset + i]; });
    default:
      break;
  }
  // Slack is known for the first step only; an op of unknown slack does not match, negated or not.
  if (c.slack.size() != c.ops.size() || block.step > 0)
    mask.assign(block.last - block.first, 0);
  else
    test(term, block, mask, [&](std::size_t i) { return c.slack[i]; });
}

void test_word(const Columns& c, const Term& term, const Block& block, Mask& mask) {
  mask.assign(block.last - block.first, 0);
  const auto key = term.field == Field::Op ? static_cast<std::uint64_t>(term.ranges.front().first) : 0;
  const bool sliced = term.field == Field::Op && term.ranges.front().second != 0;
  for (std::size_t i = block.first; i < block.last; ++i) {
    const Op op = c.ops[i];
    bool hit = false;
    if (term.field == Field::Critical)
      hit = block.step == 0 && c.critical[i] != 0;
    else if (term.field == Field::Group)
      hit = op.joined() || (i > block.queue_begin && c.ops[i - 1].joined());
    else
      hit = (sliced ? op : Op(op.kind(), op.stage(), op.microbatch())).key() == key;
    mask[i - block.first] = static_cast<std::uint8_t>(hit);
  }
}

void test_term(const Columns& c, const Term& term, const Block& block, Mask& mask) {
  switch (term.field) {
    case Field::Critical:
    case Field::Group:
    case Field::Op:
      return test_word(c, term, block, mask);
    case Field::Duration:
    case Field::Start:
    case Field::End:
    case Field::Slack:
      return test_time(c, term, block, mask);
    default:
      return test_place(c, term, block, mask);
  }
}

/// Runs the program over one block; the masks are scratch.
class Machine {
 public:
  Machine(const Columns& columns, std::span<const Term> terms, std::span<const SearchQuery::Step> program)
      : columns_(columns), terms_(terms), program_(program) {}

  const Mask& run(const Block& block) {
    std::size_t top = 0;
    for (const SearchQuery::Step& step : program_) {
      using What = SearchQuery::Step::What;
      if (step.what == What::Term) {
        if (top == stack_.size()) stack_.emplace_back();
        test_term(columns_, terms_[step.term], block, stack_[top++]);
      } else if (step.what == What::Not) {
        for (std::uint8_t& m : stack_[top - 1]) m ^= 1U;
      } else {
        --top;
        combine(stack_[top - 1], stack_[top], step.what == What::And);
      }
    }
    return stack_.front();
  }

 private:
  static void combine(Mask& into, const Mask& other, bool all) {
    for (std::size_t i = 0; i < into.size(); ++i)
      into[i] = static_cast<std::uint8_t>(all ? into[i] & other[i] : into[i] | other[i]);
  }

  const Columns& columns_;
  std::span<const Term> terms_;
  std::span<const SearchQuery::Step> program_;
  std::vector<Mask> stack_;
};

}  // namespace

std::vector<std::size_t> SearchQuery::find(const RunModel& run, const std::vector<Ticks>& slack,
                                           const Cancelled& cancelled) const {
  std::vector<std::size_t> found;
  if (empty()) return found;
  const Schedule& schedule = *run.schedule;
  Columns columns{run, slack, schedule.ops(), chunks_by_slot(schedule.placement()), {}};
  columns.critical.assign(schedule.num_ops(), 0);
  for (const std::size_t op : run.critical()) columns.critical[op] = 1;
  Machine machine(columns, terms_, program_);
  for (int step = 0; step < run.timeline.steps; ++step)
    for (Rank rank(0); rank.value() < schedule.ranks(); ++rank) {
      const std::size_t begin = schedule.queue_begin(rank);
      const std::size_t end = schedule.queue_end(rank);
      for (std::size_t first = begin; first < end && !cancelled; first += kSearchBlock) {
        const Block block{
            step, rank, begin, first, std::min(first + kSearchBlock, end), run.timeline.index(step, 0)};
        const Mask& mask = machine.run(block);
        for (std::size_t i = 0; i < mask.size(); ++i)
          if (mask[i] != 0) found.push_back(block.offset + block.first + i);
      }
    }
  return found;
}

}  // namespace pipeloom::gui
