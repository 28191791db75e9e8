// Timelines that are read back are the ones that were written.

#include "sim/io/formats/timeline_reader.hpp"

#include <sstream>

#include <pipeloom/schedule.hpp>
#include "schedules/generator.hpp"
#include "sim/cost/resolve.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/io/formats/timeline_jsonl.hpp"
#include "support/catch.hpp"

namespace timeline_reader_test {

using namespace pipeloom;

namespace {

std::string written(const Timeline& timeline, bool csv) {
  std::ostringstream out;
  csv ? io::write_timeline_csv(out, timeline) : io::write_timeline_jsonl(out, timeline);
  return out.str();
}

std::string why(const std::string& text) {
  try {
    (void)io::read_timeline(text, "t.jsonl");
  } catch (const InputError& error) {
    return error.line();
  }
  return "read";
}

Params small(const schedules::Generator& generator) {
  Params params;
  params.ranks = 4;
  params.microbatches = 8;
  params.chunks = schedules::default_chunks(generator.requirements, "");
  params.options.slices = equal_slices(generator.requirements.default_slices);
  params.options.updates = generator.requirements.default_updates;
  if (generator.requirements.takes.has(Option::Waves)) params.options.waves = 1;
  if (!generator.requirements.variants.empty())
    params.options.variant = generator.requirements.variants.front();
  return params;
}

}  // namespace

TEST_CASE("a timeline of every registered schedule is written, read and written again") {
  for (const schedules::Generator& generator : schedules::all()) {
    CAPTURE(generator.name);
    const auto schedule = std::make_shared<const Schedule>(schedules::make(generator, small(generator)));
    const Timeline timeline =
        simulate(schedule, cost::resolve({}, *schedule).costs, Steps{StepRule::Barrier, 0, 2});
    for (const bool csv : {false, true}) {
      const std::string text = written(timeline, csv);
      CHECK(io::looks_like_timeline(text));
      const Timeline again = io::read_timeline(text, "t").timeline;
      CHECK(again.steps == 2);
      CHECK(written(again, csv) == text);
      CHECK(*again.schedule == *schedule);
    }
  }
}

TEST_CASE("rows may stand in any order, with fields in any order, and a unit in front") {
  const auto [timeline, warnings] = io::read_timeline(
      "{\"time_unit\": \"us\"}\n"
      "{\"op\": \"0B0\", \"end\": 7.5, \"start\": 3.25, \"rank\": 0}\n"
      "\n"
      "{\"rank\":0,\"op\":\"0F0\",\"start\":-1,\"end\":2}\r\n",
      "t.jsonl");
  CHECK(warnings.empty());
  CHECK(timeline.unit == TimeUnit::Microsecond);
  CHECK(queue_text(*timeline.schedule, Rank(0)) == "0F0 0B0");
  // Times count from the first start, at -1.
  CHECK(timeline.start == std::vector<Ticks>{0, 4'250'000});
  CHECK(timeline.end == std::vector<Ticks>{3'000'000, 8'500'000});
}

TEST_CASE("a later step may run the same ops in another order") {
  const auto [timeline, warnings] = io::read_timeline(
      "step,rank,op,start,end\n"
      "0,0,0F0,0,1\n0,0,0F1,1,2\n"
      "1,0,0F1,10,11\n1,0,0F0,11,12\n",
      "t.csv");
  CHECK(warnings.empty());
  CHECK(queue_text(*timeline.schedule, Rank(0)) == "0F0 0F1");
  CHECK(timeline.start_of(0, 1) == 11'000'000'000);
  CHECK(timeline.start_of(1, 1) == 10'000'000'000);
}

TEST_CASE("of a run that failed the step in which it did is read, where that is asked for") {
  const std::string text =
      "{\"time_unit\":\"ms\",\"partial\":\"rank 1 failed\"}\n"
      "{\"step\":0,\"rank\":0,\"op\":\"0F0\",\"start\":0,\"end\":1}\n"
      "{\"step\":0,\"rank\":0,\"op\":\"0B0\",\"start\":3,\"end\":4}\n"
      "{\"step\":0,\"rank\":1,\"op\":\"1F0\",\"start\":1,\"end\":2}\n"
      "{\"step\":0,\"rank\":1,\"op\":\"1B0\",\"start\":2,\"end\":3}\n"
      "{\"step\":1,\"rank\":0,\"op\":\"0F0\",\"start\":5,\"end\":6}\n"
      "{\"step\":1,\"rank\":1,\"op\":\"1F0\",\"start\":6,\"end\":8}\n";
  CHECK(io::looks_like_timeline(text));
  CHECK(io::failure_of_partial(text) == "rank 1 failed");
  CHECK(why(text) ==
        "t.jsonl:1:1: error: the run that wrote it failed (rank 1 failed), so only some of its ops are here; "
        "`pipeloom convert` draws how far it got");
  const Timeline timeline =
      io::read_timeline(text, "t.jsonl.partial", TimeUnit::Unit, io::Partial::LastStep).timeline;
  CHECK(timeline.steps == 1);
  CHECK(timeline.unit == TimeUnit::Millisecond);
  CHECK(queue_text(*timeline.schedule, Rank(0)) == "0F0");
  CHECK(queue_text(*timeline.schedule, Rank(1)) == "1F0");
  CHECK(timeline.end == std::vector<Ticks>{1'000'000'000, 3'000'000'000});
  CHECK(io::failure_of_partial("{\"time_unit\":\"ms\"}\n").empty());
  // The mark stands in the first line or nowhere.
  CHECK(why("{\"time_unit\":\"ms\"}\n{\"partial\":\"x\"}\n").find("unknown field 'partial'") !=
        std::string::npos);
}

TEST_CASE("times with more digits than a tick holds are rounded with one warning") {
  // A tick is 1e-9 of the abstract unit: the tenth digit is one too many.
  const auto [one, warned] = io::read_timeline(
      "{\"rank\":0,\"op\":\"0F0\",\"start\":0,\"end\":1.000000001}\n"
      "{\"rank\":0,\"op\":\"0F1\",\"start\":2,\"end\":3.0000000016}\n",
      "t.jsonl");
  CHECK(one.end == std::vector<Ticks>{1'000'000'001, 3'000'000'002});
  CHECK(warned == std::vector<std::string>{
                      "t.jsonl:2:38: end is 3.0000000016, more digits than are kept; it was rounded"});
  const auto [table, of_table] = io::read_timeline(
      "rank,op,start,end\n"
      "0,0F0,0.00000000004,1\n"
      "0,0F1,1,2.00000000004\n"
      "0,0F2,3.00000000004,4\n",
      "t.csv");
  CHECK(table.start == std::vector<Ticks>{0, 1'000'000'000, 3'000'000'000});
  CHECK(of_table == std::vector<std::string>{"t.csv:2:7: start is 0.00000000004, more digits than are kept; "
                                             "it was rounded, and so were 2 more"});
  // The report of a run in ns, of which a tick is a thousandth.
  const auto [report, of_report] = io::read_timeline(
      "{\"schema_version\": 1, \"time_unit\": \"ns\",\n"
      " \"timeline\": [{\"rank\": 0, \"op\": \"0F0\",\n"
      "   \"start\": 0.00049, \"end\": 1.0005}]}",
      "r.json");
  CHECK(report.end == std::vector<Ticks>{1'001});
  CHECK(of_report == std::vector<std::string>{"r.json:3:13: start is 0.00049, more digits than are kept; it "
                                              "was rounded, and so was 1 more"});
}

TEST_CASE("what is wrong is named with its place") {
  const std::string good = "{\"rank\":0,\"op\":\"0F0\",\"start\":0,\"end\":1}\n";
  CHECK(why("") ==
        "t.jsonl: error: the file has no rows; a timeline has one for each op: give one that `pipeloom "
        "convert` or "
        "`run -o` has written");
  CHECK(why(good + "{\"rank\":0,\"op\":\"0F1\",\"start\":0.5,\"end\":2}\n") ==
        "t.jsonl:2:1: error: 0F1 starts before 0F0 of the same rank has ended; only ops that start and end "
        "together may overlap: correct one of the times");
  CHECK(why(good + "{\"rank\":0,\"op\":\"0F1\",\"start\":2}\n") ==
        "t.jsonl:2:1: error: the row has no end; every row needs rank, op, start and end");
  CHECK(why(good + "{\"rank\":0,\"op\":\"0F1\",\"start\":2,\"end\":1}\n") ==
        "t.jsonl:2:1: error: 0F1 ends before it starts; correct one of the times, or swap them");
  CHECK(why(good + "{\"rank\":0,\"op\":\"0Q1\",\"start\":2,\"end\":3}\n") ==
        "t.jsonl:2:16: error: '0Q1' is no op; an op is stage, kind and microbatch, such as 0F7");
  CHECK(why(good + "{\"rank\":0,\"op\":\"0F1\",\"start\":NaN,\"end\":3}\n") ==
        // 2^61 ticks of 1e-9: half the range, so that differences fit.
        "t.jsonl:2:30: error: start is 'NaN'; allowed is a decimal number from -2305843009 to 2305843009 in "
        "unit");
  CHECK(why(good + "{\"rank\":-1,\"op\":\"0F1\",\"start\":1,\"end\":3}\n") ==
        "t.jsonl:2:9: error: rank is '-1'; allowed is a whole number from 0 to 1048575");
  CHECK(why(good + "{\"rank\":0,\"op\":\"0F1\",\"strat\":1,\"end\":3}\n").find("did you mean 'start'") !=
        std::string::npos);
  CHECK(why(good + "{\"step\":2,\"rank\":0,\"op\":\"0F0\",\"start\":1,\"end\":3}\n") ==
        "t.jsonl:2:1: error: step 2 takes 3 steps of a row at least, but the file has 2 rows; add the rows "
        "that are "
        "missing, or correct the number");
  CHECK(why("{\"rank\":9,\"op\":\"0F0\",\"start\":0,\"end\":1}\n") ==
        "t.jsonl:1:1: error: rank 9 takes 10 ranks of a row at least, but the file has 1 row; add the rows "
        "that are "
        "missing, or correct the number");
  CHECK(why(good + "{\"step\":1,\"rank\":0,\"op\":\"0F1\",\"start\":1,\"end\":3}\n") ==
        "t.jsonl:2:1: error: step 0 has no 0F1 on rank 0, and every step runs the same ops; add it there, or "
        "leave "
        "this one out");
  CHECK(why(good + good).find("0F0") != std::string::npos);
  CHECK(why(good + "{\"rank\":0,\"rank\":1,") ==
        "t.jsonl:2:18: error: the row has rank twice; keep one of them");
  CHECK(
      why(good + "{\"rank\":0,") ==
      "t.jsonl:2:11: error: found the end of the line where a name in quotes is expected; write rows such as "
      "{\"rank\":0,\"op\":\"0F0\",\"start\":0,\"end\":1}");
  CHECK(why("rank,op,start,end\n0,0F0,0,1,2\n") ==
        "t.jsonl:2:11: error: more cells than the 4 of the header; leave them out, or name their columns "
        "there");
  // A row of a report that was written anew goes over several lines: each value has its own.
  CHECK(why("{\"schema_version\": 1, \"timeline\": [{\"rank\": 0,\n \"op\": \"0F0\", \"start\": 0,\n "
            "\"end\": \"x\"}]}")
            .starts_with("t.jsonl:3:9: error: end is 'x'"));
}

}  // namespace timeline_reader_test
