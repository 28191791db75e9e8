#include "sim/orders/search/retimer.hpp"

#include <algorithm>

namespace pipeloom::orders {

Retimer::Retimer(const Problem& problem, const Order& order)
    : problem_(problem),
      microbatches_(static_cast<std::uint32_t>(problem.microbatches)),
      rows_(rows_of(problem)),
      words_(problem.ranks()),
      held_(problem.ranks()),
      place_(problem.num_ops()),
      end_(problem.num_ops()),
      begin_(problem.ranks()),
      cursor_(problem.ranks()),
      waits_for_(problem.ranks()) {
  std::vector<Id> next(rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) next[i] = static_cast<Id>(i) * microbatches_;
  for (std::size_t rank = 0; rank < problem.ranks(); ++rank) {
    for (const Letter l : order.words[rank]) {
      const Id op = next[orders::row_of(problem, rank, l)]++;
      place_[op] = static_cast<std::uint32_t>(words_[rank].size());
      words_[rank].push_back(op);
    }
    held_[rank].resize(words_[rank].size());
    update_held(rank, 0, words_[rank].size());
  }
  (void)retime(0, 0);
  saved_.clear();
  sum_up();
}

Order Retimer::order() const {
  Order out;
  out.words.resize(words_.size());
  for (std::size_t rank = 0; rank < words_.size(); ++rank)
    for (const Id op : words_[rank]) {
      const std::size_t row = row_of(op);
      out.words[rank].push_back(letter(problem_.stages[row / 3].chunk, static_cast<Pass>(row % 3)));
    }
  return out;
}

Retimer::Id Retimer::producer_of(Id op) const {
  const std::size_t row = row_of(op);
  const std::uint32_t from = rows_[row].producer;
  return from == kNoRow ? kNone : from * microbatches_ + (op - static_cast<Id>(row) * microbatches_);
}

/// True if `op` and `other` of one rank may be in either order: not two of a row, not one that waits for the other, not an I before
/// its F.
bool Retimer::may_pass(Id op, Id other) const {
  const std::size_t row = row_of(op);
  const std::size_t other_row = row_of(other);
  if (row == other_row || producer_of(op) == other || producer_of(other) == op) return false;
  const bool same_stage = row / 3 == other_row / 3;
  return !same_stage || op % microbatches_ != other % microbatches_;
}

bool Retimer::keeps_limit_within(std::size_t rank, std::size_t first, std::size_t last) const {
  const Bytes limit = problem_.limit[rank];
  if (limit == kNoLimit) return true;
  Bytes held = held_[rank][first];
  for (std::size_t at = first; at < last; ++at) {
    const Row& row = rows_[row_of(words_[rank][at])];
    held += row.at_start;
    if (held > limit) return false;
    held += row.at_end;
    if (held > limit) return false;
  }
  return true;
}

void Retimer::update_held(std::size_t rank, std::size_t first, std::size_t last) {
  Bytes held = first == 0 ? 0 : held_[rank][first];
  for (std::size_t at = first; at < last; ++at) {
    held_[rank][at] = held;
    const Row& row = rows_[row_of(words_[rank][at])];
    held += row.at_start + row.at_end;
  }
}

void Retimer::rotate(std::size_t rank, std::size_t from, std::size_t to) {
  auto& word = words_[rank];
  const auto begin = word.begin();
  const auto at = [&](std::size_t i) { return begin + static_cast<std::ptrdiff_t>(i); };
  if (from < to)
    std::rotate(at(from), at(from + 1), at(to + 1));
  else
    std::rotate(at(to), at(from), at(from + 1));
  const auto [first, last] = std::minmax(from, to);
  for (std::size_t i = first; i <= last; ++i) place_[word[i]] = static_cast<std::uint32_t>(i);
}

bool Retimer::move(std::size_t rank, std::size_t from, std::size_t to) {
  const auto& word = words_[rank];
  const Id op = word[from];
  for (std::size_t at = from; at != to;) {
    at = from < to ? at + 1 : at - 1;
    if (!may_pass(op, word[at])) return false;
  }
  const auto [first, last] = std::minmax(from, to);
  rotate(rank, from, to);
  if (!keeps_limit_within(rank, first, last + 1)) {
    rotate(rank, to, from);
    return false;
  }
  update_held(rank, first, last + 1);
  moved_rank_ = rank;
  moved_from_ = from;
  moved_to_ = to;
  saved_.clear();
  if (!retime(rank, first)) {
    undo();
    return false;
  }
  sum_up();
  return true;
}

void Retimer::undo() {
  rotate(moved_rank_, moved_to_, moved_from_);
  const auto [first, last] = std::minmax(moved_from_, moved_to_);
  update_held(moved_rank_, first, last + 1);
  restore();
  sum_up();
}

void Retimer::restore() {
  for (const Saved& saved : saved_) end_[saved.op] = saved.end;
  saved_.clear();
}

/// Places of each rank's ops that the change can reach: those that did not start before the last op that keeps its place ends.
void Retimer::place_cursors(std::size_t rank, std::size_t first) {
  const Ticks from = first == 0 ? 0 : end_[words_[rank][first - 1]];
  for (std::size_t r = 0; r < words_.size(); ++r) {
    const auto& word = words_[r];
    const auto starts_before = [&](Id op) { return end_[op] - rows_[row_of(op)].duration < from; };
    const auto at = first == 0 ? word.begin() : std::partition_point(word.begin(), word.end(), starts_before);
    begin_[r] = static_cast<std::uint32_t>(r == rank ? first : static_cast<std::size_t>(at - word.begin()));
    cursor_[r] = begin_[r];
    waits_for_[r] = kNone;
  }
}

bool Retimer::timed(Id op) const {
  return place_[op] < cursor_[rows_[row_of(op)].rank];
}

/// Times the rank's ops until one waits for an op that is not timed yet. False at the end of its word.
bool Retimer::run_rank(std::size_t rank) {
  const auto& word = words_[rank];
  std::uint32_t at = cursor_[rank];
  Ticks clock = at == 0 ? 0 : end_[word[at - 1]];
  for (; at < word.size(); ++at) {
    const Id op = word[at];
    const Row& row = rows_[row_of(op)];
    const Id producer = producer_of(op);
    if (producer != kNone) {
      cursor_[rank] = at;
      if (!timed(producer)) {
        waits_for_[rank] = producer;
        return true;
      }
      clock = std::max(clock, end_[producer] + row.delay);
    }
    clock += row.duration;
    if (clock != end_[op]) saved_.push_back({op, end_[op]});
    end_[op] = clock;
    if (row.consumer != kNoRow) {
      const std::uint32_t consumer = rows_[row.consumer].rank;
      if (waits_for_[consumer] == op) {
        waits_for_[consumer] = kNone;
        ready_.push_back(consumer);
      }
    }
  }
  cursor_[rank] = at;
  return false;
}

/// Times all ops that the change at place `first` of the rank can reach. False where the order hangs.
bool Retimer::retime(std::size_t rank, std::size_t first) {
  place_cursors(rank, first);
  for (std::uint32_t r = 0; r < words_.size(); ++r) ready_.push_back(r);
  while (!ready_.empty()) {
    const std::uint32_t next = ready_.back();
    ready_.pop_back();
    (void)run_rank(next);
  }
  bool whole = true;
  for (std::size_t r = 0; r < words_.size(); ++r) {
    whole &= cursor_[r] == words_[r].size();
    work_ += cursor_[r] - begin_[r];
  }
  return whole;
}

void Retimer::sum_up() {
  value_ = 0;
  mean_ = 0;
  for (std::size_t rank = 0; rank < words_.size(); ++rank) {
    const Ticks late = end_[words_[rank].back()] - problem_.origin[rank];
    value_ = std::max(value_, late);
    mean_ += static_cast<double>(late) / static_cast<double>(words_.size());
  }
}

}  // namespace pipeloom::orders
