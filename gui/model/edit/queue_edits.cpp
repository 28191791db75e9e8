#include "gui/model/edit/queue_edits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui {
namespace {

/// Calls fn(entry) for each entry of a queue until it returns false.
template <class Fn>
void for_each_queue_entry(std::span<const Op> queue, Fn&& fn) {
  QueueEntry entry;
  while (entry.first < queue.size()) {
    entry.last = entry.first + 1;
    while (entry.last < queue.size() && queue[entry.last - 1].joined()) ++entry.last;
    if (!fn(entry)) return;
    entry.first = entry.last;
    ++entry.position;
  }
}

std::string text_of(std::span<const Op> ops) {
  std::string text;
  for (const Op op : ops) text += (text.empty() ? "" : " with ") + to_text(op);
  return text;
}

InputError refusal(Rank rank, const std::string& what) {
  return {Where{fmt::format("edit of rank {}", rank.value())}, what};
}

void require_weight(Rank rank, Op op) {
  if (op.kind() != OpKind::BackwardWeight)
    throw refusal(rank, fmt::format("{} is no W; only weight gradients can be taken out and put elsewhere",
                                    to_text(op)));
}

/// The ops as one entry, or each as its own.
std::vector<Op> as_entries(std::vector<Op> ops, bool as_group) {
  for (std::size_t i = 0; i < ops.size(); ++i) ops[i] = ops[i].with_joined(as_group && i + 1 < ops.size());
  return ops;
}

std::vector<Op> copy_of(std::span<const Op> queue, std::size_t first, std::size_t last) {
  return {queue.begin() + static_cast<std::ptrdiff_t>(first),
          queue.begin() + static_cast<std::ptrdiff_t>(last)};
}

}  // namespace

std::span<const Op> QueueSnapshot::queue(Rank rank) const {
  const auto changed = queues.find(rank.value());
  return changed == queues.end() ? base->queue(rank) : std::span<const Op>(*changed->second);
}

Schedule QueueSnapshot::build() const {
  ScheduleBuilder out = builder_like(*base);
  out.reserve(base->num_ops());
  for (Rank rank{0}; rank < Rank(base->ranks()); ++rank) {
    out.begin_rank(rank);
    const auto ops = queue(rank);
    for_each_queue_entry(ops, [&](const QueueEntry& entry) {
      out.add_group(ops.subspan(entry.first, entry.count()));
      return true;
    });
  }
  return std::move(out).build();
}

std::string queue_line(std::span<const Op> queue) {
  std::string line;
  for (const Op op : queue) {
    if (!line.empty()) line += ' ';
    line += to_text(op.with_joined(false).with_turn(false));
    if (op.joined()) line += op.in_turn() ? ',' : '+';
  }
  return line;
}

std::vector<Op> parse_queue_line(std::string_view line) {
  std::vector<Op> queue;
  for (std::string_view word : split(line, ' ')) {
    if (word.empty()) continue;
    const bool in_turn = word.ends_with(',');
    const bool joined = in_turn || word.ends_with('+');
    if (joined) word.remove_suffix(1);
    const auto op = parse_op(word);
    if (!op) throw InputError(fmt::format("found '{}'; it must be an op, such as 0F7", shortened(word, 40)));
    queue.push_back(op->with_joined(joined).with_turn(in_turn));
  }
  return queue;
}

QueueEdits::QueueEdits(std::shared_ptr<const Schedule> base) {
  now_.base = std::move(base);
}

std::optional<QueueEntry> QueueEdits::find(Rank rank, Op op) const {
  const auto ops = queue(rank);
  std::optional<QueueEntry> found;
  for_each_queue_entry(ops, [&](const QueueEntry& entry) {
    for (std::size_t i = entry.first; i < entry.last; ++i)
      if (ops[i] == op) found = entry;
    return !found;
  });
  return found;
}

std::optional<QueueEntry> QueueEdits::entry_at(Rank rank, std::size_t position) const {
  std::optional<QueueEntry> found;
  for_each_queue_entry(queue(rank), [&](const QueueEntry& entry) {
    if (entry.position == position) found = entry;
    return !found;
  });
  return found;
}

std::size_t QueueEdits::num_entries(Rank rank) const {
  const auto ops = queue(rank);
  return static_cast<std::size_t>(std::count_if(ops.begin(), ops.end(), [](Op op) { return !op.joined(); }));
}

QueueEntry QueueEdits::require(Rank rank, Op op) const {
  if (rank < Rank(0) || rank >= Rank(now_.base->ranks()))
    throw InputError(Where{"edit"},
                     fmt::format("found rank {}; allowed is 0 to {}", rank.value(), now_.base->ranks() - 1));
  const auto entry = find(rank, op);
  if (!entry)
    throw refusal(rank, fmt::format("{} is not in this rank's queue; select an op that is", to_text(op)));
  return *entry;
}

/// Index of the first op of the entry at a position; the queue's length at its end.
std::size_t QueueEdits::op_index(Rank rank, std::size_t position) const {
  const auto entry = entry_at(rank, position);
  return entry ? entry->first : queue(rank).size();
}

void QueueEdits::replace(Rank rank, std::size_t at, std::size_t count, const std::vector<Op>& with) {
  const auto ops = queue(rank);
  auto next = std::make_shared<std::vector<Op>>();
  next->reserve(ops.size() - count + with.size());
  next->insert(next->end(), ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(at));
  next->insert(next->end(), with.begin(), with.end());
  next->insert(next->end(), ops.begin() + static_cast<std::ptrdiff_t>(at + count), ops.end());
  now_.queues[rank.value()] = std::move(next);
}

void QueueEdits::apply(Edit edit) {
  replace(edit.rank, edit.at, edit.before.size(), edit.after);
  edits_.resize(done_);
  edits_.push_back(std::move(edit));
  ++done_;
}

void QueueEdits::move(Rank rank, Op op, std::size_t position) {
  const QueueEntry from = require(rank, op);
  const std::size_t entries = num_entries(rank);
  if (position >= entries)
    throw refusal(rank, fmt::format("found position {}; allowed is 0 to {}", position, entries - 1));
  if (position == from.position) return;
  const QueueEntry to = *entry_at(rank, position);
  const std::size_t first = std::min(from.first, to.first);
  const std::size_t last = std::max(from.last, to.last);
  const auto ops = queue(rank);
  Edit edit{rank, first, copy_of(ops, first, last), copy_of(ops, first, last), ""};
  const auto begin = edit.after.begin();
  const auto at = [&](std::size_t index) { return begin + static_cast<std::ptrdiff_t>(index - first); };
  if (from.position > position)
    std::rotate(begin, at(from.first), edit.after.end());
  else
    std::rotate(begin, at(from.last), edit.after.end());
  edit.what =
      fmt::format("move {} on rank {} from {} to {}", to_text(op), rank.value(), from.position, position);
  apply(std::move(edit));
}

void QueueEdits::remove_weight(Rank rank, Op op) {
  const QueueEntry entry = require(rank, op);
  require_weight(rank, op);
  const auto ops = queue(rank);
  Edit edit{rank, entry.first, copy_of(ops, entry.first, entry.last), {}, ""};
  std::vector<Op> rest = edit.before;
  std::erase(rest, op);
  edit.after = as_entries(std::move(rest), true);
  edit.what = fmt::format("take {} out of rank {}", to_text(op), rank.value());
  apply(std::move(edit));
}

void QueueEdits::insert_weight(Rank rank, Op op, std::size_t position) {
  require_weight(rank, op);
  const Schedule& base = *now_.base;
  if (op.stage().value() >= base.stages() || op.microbatch().value() >= base.microbatches() ||
      op.slice() >= base.slices() || op.is_sliced() != (base.slices() > 1))
    throw refusal(rank, fmt::format("{} is none of this schedule's; it has {} stages and {} microbatches",
                                    to_text(op), base.stages(), base.microbatches()));
  if (base.home_of(op) != rank)
    throw refusal(rank,
                  fmt::format("{} belongs to rank {}; put it there", to_text(op), base.home_of(op).value()));
  if (const auto entry = find(rank, op))
    throw refusal(rank, fmt::format("{} stands at position {} already; delete it there first", to_text(op),
                                    entry->position));
  const std::size_t entries = num_entries(rank);
  if (position > entries)
    throw refusal(rank, fmt::format("found position {}; allowed is 0 to {}", position, entries));
  apply({rank,
         op_index(rank, position),
         {},
         {op.with_joined(false)},
         fmt::format("put {} at {} of rank {}", to_text(op), position, rank.value())});
}

void QueueEdits::split(Rank rank, Op op) {
  const QueueEntry entry = require(rank, op);
  if (entry.count() == 1)
    throw refusal(rank, fmt::format("{} is in no overlapped group; nothing to split", to_text(op)));
  auto before = copy_of(queue(rank), entry.first, entry.last);
  auto after = as_entries(before, false);
  std::string what = fmt::format("split {} on rank {}", text_of(before), rank.value());
  apply({rank, entry.first, std::move(before), std::move(after), std::move(what)});
}

void QueueEdits::join_next(Rank rank, Op op) {
  const QueueEntry entry = require(rank, op);
  const auto next = entry_at(rank, entry.position + 1);
  if (!next)
    throw refusal(rank, fmt::format("{} is the last of its queue; nothing stands behind it", to_text(op)));
  auto before = copy_of(queue(rank), entry.first, next->last);
  if (std::any_of(before.begin(), before.end(), [](Op part) { return is_copy(part.kind()); }))
    throw refusal(rank,
                  fmt::format("{} cannot be joined: copies run on a stream of their own", text_of(before)));
  auto after = before;
  std::stable_partition(after.begin(), after.end(), [](Op part) { return part.kind() == OpKind::Forward; });
  after = as_entries(std::move(after), true);
  std::string what = fmt::format("join {} on rank {}", text_of(after), rank.value());
  apply({rank, entry.first, std::move(before), std::move(after), std::move(what)});
}

void QueueEdits::take_queue(Rank rank, const std::vector<Op>& queue) {
  if (rank < Rank(0) || rank >= Rank(now_.base->ranks()))
    throw InputError(Where{"edit"}, fmt::format("there is no rank {} any more", rank.value()));
  const auto now = this->queue(rank);
  std::vector<Op> known(now.begin(), now.end());
  std::vector<Op> kept(queue);
  std::ranges::sort(known);
  std::ranges::sort(kept);
  std::vector<Op> missing;
  std::ranges::set_difference(known, kept, std::back_inserter(missing));
  const bool only_weights =
      std::ranges::all_of(missing, [](Op op) { return op.kind() == OpKind::BackwardWeight; });
  if (!only_weights || !std::ranges::includes(known, kept) || (!queue.empty() && queue.back().joined()))
    throw refusal(rank, "the queue has other ops than the one that was edited");
  apply({rank,
         0,
         {now.begin(), now.end()},
         queue,
         fmt::format("the order of rank {} as it was kept", rank.value())});
}

std::vector<std::pair<Rank, Op>> QueueEdits::removed_weights() const {
  std::vector<std::pair<Rank, Op>> out;
  for (std::size_t i = 0; i < done_; ++i) {
    const Edit& edit = edits_[i];
    if (edit.before.size() == edit.after.size()) continue;
    const bool removes = edit.before.size() > edit.after.size();
    const auto& more = removes ? edit.before : edit.after;
    const auto& less = removes ? edit.after : edit.before;
    for (const Op op : more) {
      if (std::find(less.begin(), less.end(), op) != less.end()) continue;
      if (removes)
        out.emplace_back(edit.rank, op.with_joined(false));
      else
        std::erase(out, std::pair(edit.rank, op));
    }
  }
  return out;
}

void QueueEdits::undo() {
  if (!can_undo()) return;
  const Edit& edit = edits_[--done_];
  replace(edit.rank, edit.at, edit.after.size(), edit.before);
}

void QueueEdits::redo() {
  if (!can_redo()) return;
  const Edit& edit = edits_[done_++];
  replace(edit.rank, edit.at, edit.before.size(), edit.after);
}

std::string QueueEdits::last_edit() const {
  return done_ == 0 ? "" : edits_[done_ - 1].what;
}

}  // namespace pipeloom::gui
