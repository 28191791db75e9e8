#include "gui/model/panels/range_stats.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <variant>

#include <pipeloom/metrics.hpp>
#include "sim/kinds.hpp"
#include "sim/tracks/cause_track.hpp"
#include "sim/tracks/op_track.hpp"

namespace pipeloom::gui {
void RangeTotal::add(const RankRange& rank) {
  busy += rank.busy;
  for (std::size_t k = 0; k < kOpKinds; ++k) busy_of[k] += rank.busy_of[k];
  idle += rank.idle;
  idle_of += rank.idle_of;
  ops += rank.ops;
}

RankRange range_of(const RunModel& run, Rank rank, Ticks from, Ticks to) {
  RankRange out;
  const tracks::OpTrack& track = *run.op_track;
  out.ops = track.add_exact(track.row_of(rank, Lane::Work), from, to, out.busy_of);
  if (run.schedule->has_copies()) track.exact(track.row_of(rank, Lane::Copies), from, to, out.busy_of);
  for (const OpKind kind : kAllOpKinds)
    if (!is_copy(kind)) out.busy += out.busy_of[index_of(kind)];
  out.idle = std::max<Ticks>(0, tracks::overlap(run.span().start, run.span().end, from, to) - out.busy);
  std::array<Ticks, kIdleCauses> causes{};
  if (rank.at() < run.idle.size()) run.cause_track->exact(rank.at(), from, to, causes);
  for (std::size_t i = 0; i < kIdleCauses; ++i) out.idle_of.of(static_cast<IdleCause>(i)) = causes[i];
  return out;
}

const std::vector<RankRange>* RangeStats::of_range(Session& session) {
  if (!session.range || session.active >= session.runs.size()) return nullptr;
  const RunPtr& run = session.runs[session.active].run;
  if (range_ == session.range && run_ == run->id) return &ranks_;
  range_ = session.range;
  run_ = run->id;
  ranks_.clear();
  total_ = {};
  for (Rank rank{0}; rank < Rank(run->ranks()); ++rank)
    total_.add(ranks_.emplace_back(range_of(*run, rank, range_->start, range_->end)));
  return &ranks_;
}

void RangeStats::write_state(const Session& session, io::JsonWriter& out) const {
  const RunModel* run = session.active_run();
  if (!session.range || run == nullptr || range_ != session.range || run_ != run->id) {
    out.null();
    return;
  }
  const auto time = [&](Ticks ticks) { return to_double(ticks, run->timeline.unit); };
  out.array();
  for (const RankRange& rank : ranks_) {
    std::map<std::string_view, std::variant<double, std::uint64_t>> row = {
        {"busy", time(rank.busy)}, {"idle", time(rank.idle)}, {"ops", rank.ops}};
    for (std::size_t i = 0; i < kIdleCauses; ++i) {
      const auto cause = static_cast<IdleCause>(i);
      row[name_of(cause)] = time(rank.idle_of.of(cause));
    }
    out.object();
    for (const auto& [name, number] : row)
      std::visit([&, name = name](auto shown) { out.member(name, shown); }, number);
    out.close();
  }
  out.close();
}

std::string to_text(const RunModel& run, const std::vector<RankRange>& ranks) {
  std::string text = "rank\tbusy";
  for (const OpKind kind : kAllOpKinds)
    if (run.schedule->contains(kind)) text += std::string("\t") + letter_of(kind);
  text += "\tidle";
  for (std::size_t i = 0; i < kIdleCauses; ++i)
    text += "\t" + std::string(name_of(static_cast<IdleCause>(i)));
  text += "\tops\n";
  const auto add = [&](Ticks ticks) { text += "\t" + format_ticks(ticks, run.timeline.unit); };
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    text += std::to_string(rank);
    add(ranks[rank].busy);
    for (const OpKind kind : kAllOpKinds)
      if (run.schedule->contains(kind)) add(ranks[rank].busy_of[index_of(kind)]);
    add(ranks[rank].idle);
    for (std::size_t i = 0; i < kIdleCauses; ++i) add(ranks[rank].idle_of.of(static_cast<IdleCause>(i)));
    text += "\t" + std::to_string(ranks[rank].ops) + "\n";
  }
  return text;
}

}  // namespace pipeloom::gui
