// Tables of ops of the straggler data sets, written from a timeline and read back to it.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <pipeloom/error.hpp>
#include "sim/io/formats/timeline_reader.hpp"
#include "sim/io/traces/assemble.hpp"
#include "sim/io/traces/trace_reader.hpp"
#include "support/catch.hpp"
#include "support/temporary.hpp"

namespace straggler_trace_test {

using namespace pipeloom;

namespace {

/// A folder of its own that is gone afterwards.
class TableFolder {
 public:
  TableFolder() : path_(test::temporary_path("straggler_trace_test")) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TableFolder() { std::filesystem::remove_all(path_); }
  TableFolder(const TableFolder&) = delete;
  TableFolder& operator=(const TableFolder&) = delete;

  [[nodiscard]] std::string write(const std::string& text) const {
    const auto file = path_ / "trace.csv";
    std::ofstream(file) << text;
    return file.string();
  }

 private:
  std::filesystem::path path_;
};

const std::string kHeader = "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,gmc,mb_id\n";

/// Two ranks, two microbatches, in seconds; a send, a collective and a copy of the pipeline beside them.
const std::string kTable = kHeader +
                           "0,0,0,7,forward-compute,0.5,1,0,0,0,0\n"
                           "0,0,0,7,forward-compute,1.5,1,1,0,0,1\n"
                           "0,1,2,7,forward-compute,1.75,1,0,0.0,1.0,0.0\n"
                           "0,1,2,7,backward-compute,2.75,2,0,0,1,0\n"
                           "0,1,2,7,forward-compute,4.75,1,1,0,1,1\n"
                           "0,1,2,7,backward-compute,5.75,2,1,0,1,1\n"
                           "0,0,0,7,backward-compute,5,2,0,0,0,0\n"
                           "0,0,0,7,backward-compute,8,2,1,0,0,1\n"
                           "0,0,0,7,forward-send,1.5,0.25,0,0,0,\n"
                           "0,0,0,7,grads-reduce-scatter,10,1,0,,,\n"
                           "1,0,1,7,forward-compute,0.5,1,0,0,0,0\n";

std::string refusal(const std::string& text) {
  const TableFolder folder;
  const std::string file = folder.write(text);
  try {
    (void)io::assemble(io::read_trace({file}));
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("A table of ops becomes the timeline that it was written from") {
  const TableFolder folder;
  const std::string file = folder.write(kTable);
  REQUIRE(io::is_trace(file));
  const io::Trace trace = io::read_trace({file});
  CHECK(trace.format == "straggler");
  REQUIRE(trace.ranks.size() == 2);
  REQUIRE(trace.ranks[0].messages.size() == 1);
  CHECK(trace.ranks[0].messages[0].microbatch == 0);
  CHECK(trace.ranks[0].messages[0].end - trace.ranks[0].messages[0].start == ticks_per(TimeUnit::Second) / 4);

  const Timeline run = io::assemble(trace).timeline;
  // The same ops in the order of the ranks, counted from the earliest start.
  const Timeline expected = io::read_timeline(
                                "{\"time_unit\":\"s\"}\n"
                                "{\"rank\":0,\"op\":\"0F0\",\"start\":0.0,\"end\":1.0}\n"
                                "{\"rank\":0,\"op\":\"0F1\",\"start\":1.0,\"end\":2.0}\n"
                                "{\"rank\":0,\"op\":\"0B0\",\"start\":4.5,\"end\":6.5}\n"
                                "{\"rank\":0,\"op\":\"0B1\",\"start\":7.5,\"end\":9.5}\n"
                                "{\"rank\":1,\"op\":\"1F0\",\"start\":1.25,\"end\":2.25}\n"
                                "{\"rank\":1,\"op\":\"1B0\",\"start\":2.25,\"end\":4.25}\n"
                                "{\"rank\":1,\"op\":\"1F1\",\"start\":4.25,\"end\":5.25}\n"
                                "{\"rank\":1,\"op\":\"1B1\",\"start\":5.25,\"end\":7.25}\n",
                                "t.jsonl")
                                .timeline;
  CHECK(run.start == expected.start);
  CHECK(run.end == expected.end);
  CHECK(std::ranges::equal(run.schedule->ops(), expected.schedule->ops()));
}

TEST_CASE("Of a table that ends in the middle of a line the whole lines count") {
  const TableFolder folder;
  const std::string file = folder.write(kTable + "0,0,0,8,forward-compute,1");
  const io::Trace trace = io::read_trace({file});
  CHECK(trace.ranks[0].is_truncated);
  CHECK(trace.ranks[0].ops.size() == 4);
}

TEST_CASE("What is wrong with a table of ops is said with its line") {
  CHECK(refusal(kHeader) == "the table has no forward-compute or backward-compute");
  CHECK(refusal("stage,step,optype,start_ts,durations\n").find("no column duration;") != std::string::npos);
  CHECK(refusal(kHeader + "0,0,0,7,forward-compute,0.5,1,0,0,0\n") ==
        "10 fields, but the first line has 11; a field has no comma");
  CHECK(refusal(kHeader + "0,0,0,7,forward-compute,soon,1,0,0,0,0\n")
            .starts_with("start_ts is 'soon', no time"));
  CHECK(refusal(kHeader + "0,0,0,7,forward-compute,0.5,-1,0,0,0,0\n") ==
        "duration is '-1'; it is 0 at least");
  CHECK(refusal(kHeader + "0,0,0,7,forward-compute,0.5,1,0,0,0,0.5\n")
            .starts_with("mb_id is '0.5'; it is a whole"));
  CHECK(refusal(kHeader + "0,,0,7,forward-compute,0.5,1,0,0,0,0\n").starts_with("stage is missing"));
}

}  // namespace straggler_trace_test
