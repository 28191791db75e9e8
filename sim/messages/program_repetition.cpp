#include "sim/messages/program_repetition.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

namespace pipeloom {

RecordedRun::RecordedRun(const Program& program, ProgramRun run, std::vector<WorkRecord> works)
    : program_(&program),
      run_(std::move(run)),
      works_(std::move(works)),
      post_of_batch_(program.num_batches()),
      sent_at_(program.messages().size()),
      received_at_(program.messages().size()) {
  for (std::size_t i = 0; i < works_.size(); ++i)
    if (works_[i].kind == WorkRecord::Kind::Advance && works_[i].index == 0) of_first_rank_.push_back(i);
  for (Rank rank{0}; rank < Rank(program.schedule().ranks()); ++rank) {
    auto& entries = entries_.emplace_back();
    const auto list = program.instructions(rank);
    for (std::size_t at = 0; at < list.size(); ++at) {
      if (list[at].code == Program::Code::Run) entries.push_back({place_of(list[at].index, rank), at});
      if (list[at].code != Program::Code::Post) continue;
      post_of_batch_[list[at].index] = at;
      for (const Endpoint& end : program.batch(list[at].index))
        (end.is_send ? sent_at_ : received_at_)[end.message] = at;
    }
  }
}

std::optional<RecordedRun> RecordedRun::of(const Program& program, const Costs& costs,
                                           const MessageRules& rules) {
  std::vector<WorkRecord> works;
  auto outcome = run_program_recorded(program, costs, rules, works);
  auto* run = std::get_if<ProgramRun>(&outcome);
  if (run == nullptr) return std::nullopt;
  return RecordedRun(program, std::move(*run), std::move(works));
}

std::size_t RecordedRun::instruction_at(Rank rank, std::size_t place) const {
  const auto& entries = entries_[rank.at()];
  const auto next = std::partition_point(entries.begin(), entries.end(),
                                         [place](const EntryPlace& entry) { return entry.place < place; });
  return next == entries.begin() ? 0 : std::prev(next)->instruction + 1;
}

std::size_t RecordedRun::record_at(std::size_t instruction) const {
  const auto found =
      std::partition_point(of_first_rank_.begin(), of_first_rank_.end(),
                           [&](std::size_t record) { return works_[record].instruction < instruction; });
  return found == of_first_rank_.end() ? works_.size() : *found;
}

RepeatingProgram::Shift RepeatingProgram::make_shift(const RecordedRun& from, std::size_t from_cut,
                                                     const RecordedRun& to, std::size_t to_cut,
                                                     Ticks delay) const {
  Shift shift{from, to, to_cut - from_cut, delay, {}};
  for (Rank rank{0}; rank < Rank(from.program_->schedule().ranks()); ++rank)
    shift.instructions.push_back(cut(to, rank, to_cut) - cut(from, rank, from_cut));
  return shift;
}

/// The block of an instruction; `cuts` of those after the last cut.
std::size_t RepeatingProgram::block_of(const RecordedRun& run, std::size_t cuts, Rank rank,
                                       std::size_t instruction) const {
  std::size_t low = 0;
  std::size_t high = cuts;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (cut(run, rank, middle + 1) <= instruction)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

std::size_t RepeatingProgram::reach(const RecordedRun& run, std::size_t cuts) const {
  const Program& program = *run.program_;
  std::size_t most = 0;
  for (Rank rank{0}; rank < Rank(program.schedule().ranks()); ++rank) {
    const auto list = program.instructions(rank);
    for (std::size_t at = cut(run, rank, 0); at < cut(run, rank, cuts); ++at) {
      if (list[at].code == Program::Code::Run) continue;
      const std::size_t own = block_of(run, cuts, rank, at);
      for (const Endpoint& end : program.batch(list[at].index)) {
        const MessageInfo& message = program.messages()[end.message];
        for (const std::size_t other : {block_of(run, cuts, message.from_rank, run.sent_at_[end.message]),
                                        block_of(run, cuts, message.to_rank, run.received_at_[end.message])})
          most = std::max(most, std::max(own, other) - std::min(own, other));
      }
    }
  }
  return most + 1;
}

bool RepeatingProgram::is_same_message(const Shift& shift, MessageId from, MessageId to) const {
  if (from == kNoMessage || to == kNoMessage) return from == to;
  const MessageInfo& one = shift.from.program_->messages()[from];
  const MessageInfo& other = shift.to.program_->messages()[to];
  return one.from_rank == other.from_rank && one.to_rank == other.to_rank && one.from == other.from &&
         one.to == other.to &&
         shift.from.place_of(one.producer_op, one.from_rank) +
                 shift.blocks * queues_->block_ops(one.from_rank) ==
             shift.to.place_of(other.producer_op, other.from_rank);
}

bool RepeatingProgram::has_same_times(const Shift& shift, MessageId from, MessageId to) const {
  const MessageTimes& one = shift.from.run_.messages[from];
  const MessageTimes& other = shift.to.run_.messages[to];
  const auto is_later = [&shift](Ticks earlier, Ticks later) { return earlier + shift.delay == later; };
  return is_later(one.sent, other.sent) && is_later(one.received, other.received) &&
         is_later(one.ready, other.ready) && is_later(one.start, other.start) &&
         is_later(one.end, other.end) && is_same_message(shift, one.queued_after, other.queued_after);
}

bool RepeatingProgram::is_same_entry(const Shift& shift, Rank rank, std::size_t from, std::size_t to) const {
  const auto ops = shift.from.program_->schedule().ops();
  const auto others = shift.to.program_->schedule().ops();
  if (shift.from.place_of(from, rank) + shift.blocks * queues_->block_ops(rank) !=
      shift.to.place_of(to, rank))
    return false;
  const Timeline& one = shift.from.run_.timeline;
  const Timeline& other = shift.to.run_.timeline;
  for (;; ++from, ++to) {
    if (one.start[from] + shift.delay != other.start[to] || one.end[from] + shift.delay != other.end[to])
      return false;
    if (ops[from].joined() != others[to].joined()) return false;
    if (!ops[from].joined()) return true;
  }
}

bool RepeatingProgram::is_same_batch(const Shift& shift, std::uint32_t from, std::uint32_t to) const {
  const auto one = shift.from.program_->batch(from);
  const auto other = shift.to.program_->batch(to);
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [&](const Endpoint& a, const Endpoint& b) {
                      return a.is_send == b.is_send && is_same_message(shift, a.message, b.message) &&
                             has_same_times(shift, a.message, b.message);
                    });
}

bool RepeatingProgram::is_same_instruction(const Shift& shift, Rank rank, std::size_t from) const {
  const std::size_t to = from + shift.instructions[rank.at()];
  const Program::Instruction one = shift.from.program_->instructions(rank)[from];
  const Program::Instruction other = shift.to.program_->instructions(rank)[to];
  if (one.code != other.code) return false;
  switch (one.code) {
    case Program::Code::Run:
      return is_same_entry(shift, rank, one.index, other.index);
    case Program::Code::Post:
      return is_same_batch(shift, one.index, other.index);
    case Program::Code::Wait:
      break;
  }
  return from - shift.from.post_of_batch_[one.index] == to - shift.to.post_of_batch_[other.index];
}

bool RepeatingProgram::are_same_instructions(const Shift& shift, Rank rank, std::size_t begin,
                                             std::size_t end) const {
  for (std::size_t at = begin; at < end; ++at)
    if (!is_same_instruction(shift, rank, at)) return false;
  return true;
}

bool RepeatingProgram::is_same_record(const Shift& shift, const WorkRecord& from,
                                      const WorkRecord& to) const {
  if (from.kind != to.kind) return false;
  // A rank is asked to begin at time 0, wherever in the record that is.
  if (from.kind == WorkRecord::Kind::Advance)
    return from.index == to.index && from.instruction + shift.instructions[from.index] == to.instruction &&
           (from.when + shift.delay == to.when || (from.when == 0 && to.when == 0));
  return from.when + shift.delay == to.when && is_same_message(shift, from.index, to.index);
}

bool RepeatingProgram::are_same_records(const Shift& shift, std::size_t from, std::size_t to,
                                        std::size_t count) const {
  const auto& one = shift.from.works_;
  const auto& other = shift.to.works_;
  if (from + count > one.size() || to + count > other.size()) return false;
  for (std::size_t i = 0; i < count; ++i)
    if (!is_same_record(shift, one[from + i], other[to + i])) return false;
  return true;
}

bool RepeatingProgram::repeats(const RecordedRun& run, std::size_t to, std::size_t blocks, Ticks delay,
                               std::size_t reach, std::size_t ahead) const {
  if (to < reach + blocks) return false;
  const Shift shift = make_shift(run, to - blocks, run, to, delay);
  for (Rank rank{0}; rank < Rank(run.program_->schedule().ranks()); ++rank)
    if (!are_same_instructions(shift, rank, cut(run, rank, to - reach - blocks),
                               cut(run, rank, to + ahead - blocks)))
      return false;
  const auto record = [&](std::size_t number) { return run.record_at(cut(run, Rank(0), number)); };
  const std::size_t begin = record(to - reach - blocks);
  return are_same_records(shift, begin, record(to - reach), record(to - blocks) - begin);
}

/// Compares a rank's waits: those before the cut, and those after it with the ones a repetition earlier.
bool RepeatingProgram::are_same_waits(const Shift& before, const Shift& after, Rank rank,
                                      std::size_t cut) const {
  const auto place_of = [rank](const RecordedRun& run, const RankWait& wait) {
    return wait.before_op == RankWait::kAtEnd ? ~std::size_t{0} : run.place_of(wait.before_op, rank);
  };
  const auto& one = before.from.run_.waits[rank.at()];
  const auto& other = before.to.run_.waits[rank.at()];
  const std::size_t place = queues_->cut(rank, cut);
  const auto first_from = [&](const RecordedRun& run, const std::vector<RankWait>& waits, std::size_t from) {
    return std::partition_point(waits.begin(), waits.end(),
                                [&](const RankWait& wait) { return place_of(run, wait) < from; });
  };
  const auto is_same = [this, rank](const Shift& shift) {
    return [this, rank, &shift](const RankWait& a, const RankWait& b) {
      return is_same_wait(shift, rank, a, b);
    };
  };
  const auto in_other = first_from(before.to, other, place);
  const auto repeated = first_from(before.from, one, place - after.blocks * queues_->block_ops(rank));
  return std::equal(one.begin(), first_from(before.from, one, place), other.begin(), in_other,
                    is_same(before)) &&
         std::equal(repeated, one.end(), in_other, other.end(), is_same(after));
}

bool RepeatingProgram::is_same_wait(const Shift& shift, Rank rank, const RankWait& from,
                                    const RankWait& to) const {
  const bool at_end = from.before_op == RankWait::kAtEnd;
  if (at_end != (to.before_op == RankWait::kAtEnd) || from.is_lane != to.is_lane) return false;
  if (!at_end && shift.from.place_of(from.before_op, rank) + shift.blocks * queues_->block_ops(rank) !=
                     shift.to.place_of(to.before_op, rank))
    return false;
  return from.start + shift.delay == to.start && from.end + shift.delay == to.end &&
         is_same_message(shift, from.message, to.message);
}

bool RepeatingProgram::is_longer(const RecordedRun& shorter, const RecordedRun& longer,
                                 std::size_t cut_number, std::size_t blocks, Ticks delay) const {
  const Shift before = make_shift(shorter, cut_number, longer, cut_number, 0);
  const Shift after = make_shift(shorter, cut_number - blocks, longer, cut_number, delay);
  for (Rank rank{0}; rank < Rank(shorter.program_->schedule().ranks()); ++rank) {
    const std::size_t end = shorter.program_->instructions(rank).size();
    if (before.instructions[rank.at()] != 0 ||
        longer.program_->instructions(rank).size() != end + after.instructions[rank.at()] ||
        !are_same_instructions(before, rank, 0, cut(shorter, rank, cut_number)) ||
        !are_same_instructions(after, rank, cut(shorter, rank, cut_number - blocks), end) ||
        !are_same_waits(before, after, rank, cut_number))
      return false;
  }
  const std::size_t begin = shorter.record_at(cut(shorter, Rank(0), cut_number));
  const std::size_t repeated = shorter.record_at(cut(shorter, Rank(0), cut_number - blocks));
  const std::size_t rest = shorter.works_.size() - repeated;
  return longer.works_.size() == begin + rest && are_same_records(before, 0, 0, begin) &&
         are_same_records(after, repeated, begin, rest);
}

}  // namespace pipeloom
