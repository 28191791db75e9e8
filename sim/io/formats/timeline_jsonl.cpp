#include "sim/io/formats/timeline_jsonl.hpp"

#include "sim/io/json/text_writer.hpp"

namespace pipeloom::io {
namespace {

/// The text around the five fields of a row.
struct RowText {
  const char* step;
  const char* rank;
  const char* op;
  const char* start;
  const char* end;
  const char* close;
};

void write_rows(TextWriter& out, const Timeline& timeline, const RowText& text) {
  const Schedule& schedule = *timeline.schedule;
  for (int step = 0; step < timeline.steps; ++step)
    for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
      for (std::size_t i = schedule.queue_begin(rank); i < schedule.queue_end(rank); ++i) {
        if (timeline.steps > 1) out << text.step << step;
        out << text.rank << rank.value() << text.op << schedule.ops()[i] << text.start;
        out.ticks(timeline.start_of(i, step), timeline.unit) << text.end;
        out.ticks(timeline.end_of(i, step), timeline.unit) << text.close;
      }
}

}  // namespace

void write_timeline_jsonl(std::ostream& stream, const Timeline& timeline) {
  TextWriter out(stream);
  const char* rank = timeline.steps > 1 ? ",\"rank\":" : "{\"rank\":";
  write_rows(out, timeline, {"{\"step\":", rank, ",\"op\":\"", "\",\"start\":", ",\"end\":", "}\n"});
  out.flush();
}

void write_timeline_with_unit(std::ostream& stream, const Timeline& timeline) {
  TextWriter out(stream);
  out << "{\"time_unit\":\"" << name_of(timeline.unit) << "\"}\n";
  out.flush();
  write_timeline_jsonl(stream, timeline);
}

void write_timeline_csv(std::ostream& stream, const Timeline& timeline) {
  TextWriter out(stream);
  const bool steps = timeline.steps > 1;
  out << (steps ? "step,rank,op,start,end\n" : "rank,op,start,end\n");
  write_rows(out, timeline, {"", steps ? "," : "", ",", ",", ",", "\n"});
  out.flush();
}

}  // namespace pipeloom::io
