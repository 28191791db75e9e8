#include "sim/messages/plans/rank_writer.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/kinds.hpp"

namespace pipeloom::plans {

RankWriter::RankWriter(std::shared_ptr<const Schedule> schedule, std::string_view plan)
    : out_(std::move(schedule)), plan_(plan) {
  // Enough for any plan: every end of a message in a batch of its own.
  out_.reserve(2 * messages().size());
}

void RankWriter::begin_rank(Rank rank) {
  out_.begin_rank(rank);
  rank_ = rank;
  cursor_ = schedule().queue_begin(rank);
  end_ = schedule().queue_end(rank);
}

std::size_t RankWriter::next() const {
  const auto ops = schedule().ops();
  std::size_t i = cursor_;
  while (i < end_ && kExtras.has(ops[i].kind())) ++i;
  return i;
}

void RankWriter::run(std::size_t first_op) {
  const std::size_t expected = next();
  if (expected == end_ || first_op != expected)
    refuse_shape(fmt::format(
        "{} is due, but {}", to_text(schedule().ops()[first_op]),
        expected == end_ ? "the queue is at its end" : to_text(schedule().ops()[expected]) + " is next"));
  while (cursor_ <= first_op) run_entry();
  while (cursor_ < end_ && is_copy(schedule().ops()[cursor_].kind())) run_entry();
}

void RankWriter::end_rank() {
  if (const std::size_t left = next(); left != end_)
    refuse_shape(fmt::format("{} is one too many", to_text(schedule().ops()[left])));
  while (cursor_ < end_) run_entry();
}

void RankWriter::refuse_shape(std::string_view why) const {
  const std::string where =
      rank_ < Rank(0) ? "the schedule" : fmt::format("the queue of rank {}", rank_.value());
  throw ScheduleError(fmt::format("{} is not in the order of {}: {}", where, plan_, why));
}

void RankWriter::run_entry() {
  out_.run(cursor_);
  while (schedule().ops()[cursor_].joined()) ++cursor_;
  ++cursor_;
}

}  // namespace pipeloom::plans
