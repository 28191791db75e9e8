#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sim/io/config/config.hpp"
#include "sim/io/config/key.hpp"
#include "support/catch.hpp"

namespace run_config_test {

using namespace pipeloom;
using namespace pipeloom::io;

namespace {

Config read(const std::string& text) {
  return read_run_config(Document::parse(text, "c").root());
}

/// A whole configuration with `more` behind the required keys, on line 2.
std::string with(const std::string& more) {
  return "{\"schedule\": \"1f1b\", \"ranks\": 4, \"microbatches\": 8,\n" + more + "}";
}

std::string error_of(const std::string& text) {
  try {
    (void)read(text);
  } catch (const InputError& error) {
    return error.line();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("the documented example is read") {
  const auto config = read(R"({
      "schedule": "interleaved-1f1b", "ranks": 4, "microbatches": 10, "chunks": 2,
      "options": {"group_size": 5},
      "costs": {
        "time_unit": "ms", "per": "stage",
        "forward": 1.0,
        "backward": [2, 2, 2, 2.5, 2, 2, 2, 2],
        "backward_input": 1.0, "backward_weight": {"default": 1, "stages": {"3": 1.5}},
        "overlapped": 2.5,
        "rank_scale": [1, 1, 1.1, 1],
        "transfer": {"model": "latency", "latency": 0.1, "bytes": 0, "bandwidth_gbps": 400,
                     "queue": "per-pair", "ranks_per_node": 8, "intra": {"latency": 0.01}, "inter": {"latency": 0.1}}
      },
      "memory": {"activation_bytes": 1, "released_at_input": 0, "static_bytes": 0, "receive_bytes": 0, "logits_bytes": 0, "limit_bytes": null},
      "step": {"rule": "barrier", "optimizer": 0, "count": 1}
    })");
  CHECK(config.schedule == "interleaved-1f1b");
  CHECK(config.chunks == 2);
  CHECK(config.options.group_size == 5);
  CHECK(config.costs.unit == TimeUnit::Millisecond);
  CHECK(config.costs.duration[0]->scalar == 1'000'000'000);    // 1 ms = 1e9 ps
  CHECK(config.costs.duration[1]->array[3] == 2'500'000'000);  // 2.5 ms
  CHECK(config.costs.duration[3]->exceptions[0].stage == 3);
  CHECK(config.costs.overlap->rule == OverlapRule::Explicit);
  CHECK(config.costs.rank_scale.array[2] == 1'100'000'000);  // 1.1 in units of 1e-9
  CHECK(config.costs.transfer.link.latency == 100'000'000);  // 0.1 ms
  CHECK(config.costs.transfer.link.bits_per_second == 400'000'000'000);
  CHECK(config.costs.transfer.intra.latency == 10'000'000);
  CHECK_FALSE(config.memory.limit);
  CHECK(config.warnings.empty());
}

TEST_CASE("the shortest configuration takes every default") {
  const auto config = read(with("\"costs\": {}"));
  CHECK_FALSE(config.chunks);
  CHECK(config.costs.unit == TimeUnit::Unit);
  CHECK_FALSE(config.costs.duration[0]);
  CHECK_FALSE(config.costs.overlap);
  CHECK(config.memory.activation.scalar == 1);
  CHECK(config.step.count == 1);
}

TEST_CASE("a wrong configuration gets one exact line") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[]", "c:1:1: error: the configuration is an array of 0; it must be an object"},
      {"{}", "c:1:1: error: \"schedule\" is missing; add it to the configuration or give --schedule NAME"},
      {R"({"schedule": "1f1b", "microbatches": 2})",
       "c:1:1: error: \"ranks\" is missing; add it to the configuration or give --ranks P"},
      {R"({"schedule": "1f1b", "ranks": 2})",
       "c:1:1: error: \"microbatches\" is missing; add it to the configuration or give --microbatches M"},
      {R"({"schedule": 3})", "c:1:14: error: schedule is 3; it must be a string"},
      {R"({"rank": 3})",
       "c:1:2: error: unknown configuration key 'rank'; did you mean 'ranks'? valid: schedule, ranks, "
       "microbatches, chunks, "
       "options, costs, memory, step"},
      {R"({"ranks": 0})", "c:1:11: error: ranks is 0; it must be a whole number from 1 to 1048576"},
      {R"({"ranks": -1})", "c:1:11: error: ranks is -1; it must be a whole number from 1 to 1048576"},
      {R"({"ranks": 1.5})", "c:1:11: error: ranks is 1.5; it must be a whole number from 1 to 1048576"},
      {R"({"ranks": 1048577})",
       "c:1:11: error: ranks is 1048577; it must be a whole number from 1 to 1048576"},
      {R"({"ranks": "4"})",
       "c:1:11: error: ranks is the string '4'; it must be a whole number from 1 to 1048576"},
      {with(R"("chunks": 1e30)"),
       "c:2:11: error: chunks is 1e30, which is too large; it must be a whole number from 1 to 1048576"},
      {with(R"("options": {"memory_limit": 4})"),
       "c:2:29: error: options.memory_limit is 4; it must be an object"},
      {with(R"("options": {"memory_limit": {"bytes": 4, "microbatches": 1}})"),
       "c:2:29: error: options.memory_limit is an object; it must be {\"bytes\": n} or {\"microbatches\": "
       "x}, one of the two"},
      {with(R"("options": {"memory_limit": {"microbatches": 0}})"),
       "c:2:46: error: options.memory_limit.microbatches is 0; it must be a number above 0"},
      {with(R"("memory": {"limit_bytes": []})"),
       "c:2:27: error: memory.limit_bytes is an array of 0; it must be a number of bytes, an array of one "
       "per rank, or null"},
      {with(R"("options": {"slices": []})"),
       "c:2:23: error: options.slices is an array of 0; it must be a number of equal slices from 1 to 65535, "
       "or "
       "an array of one positive whole weight per slice"},
      {with(R"("options": {"recompute": "some"})"),
       "c:2:26: error: options.recompute is the string 'some'; it must be \"none\", \"full\", \"selective\", "
       "modules (core_attn,layernorm,mla_up_proj,mlp,moe,moe_act,shared_experts), or {\"keep\": passes, "
       "\"stages\": [s]}"},
      {with(R"("options": {"forward_only": 1})"),
       "c:2:29: error: options.forward_only is 1; it must be true or false"},
      {with(R"("costs": {"forward": -1})"),
       "c:2:22: error: costs.forward is -1; it must be a time of 0 or more"},
      {with(R"("costs": {"forward": 1e30})"),
       "c:2:22: error: costs.forward is 1e30, which is too large; it must be a time of 0 or more below "
       "4611686018"},
      {with(R"("costs": {"forward": "1"})"),
       "c:2:22: error: costs.forward is the string '1'; it must be a time of 0 or more, such as 23.6, or "
       "\"23.6ms\" with a unit (s, ms, us or ns)"},
      {with(R"("costs": {"forward": [1, null]})"),
       "c:2:26: error: costs.forward is null; it must be a time of 0 or more"},
      {with(R"("costs": {"forward": {"defaults": 1}})"),
       "c:2:23: error: unknown key of costs.forward 'defaults'; did you mean 'default'? valid: default, "
       "stages"},
      {with(R"("costs": {"forward": {"stages": {"03": 1}}})"),
       "c:2:34: error: '03' is no stage; the keys of costs.forward.stages are numbers such as \"3\""},
      {with(R"("costs": {"foward": 1})"),
       "c:2:11: error: unknown key of costs 'foward'; did you mean 'forward'? valid: model, hardware, zero, "
       "shards, flash, order, per, layers, forward, backward and 39 more"},
      {with(R"("costs": {"time_unit": "min"})"),
       "c:2:24: error: unknown costs.time_unit 'min'; valid: unit, s, ms, us, ns"},
      {with(R"("costs": {"overlapped": "sequental"})"),
       "c:2:25: error: unknown costs.overlapped 'sequental'; did you mean 'sequential'? valid: sequential, "
       "sum"},
      {with(R"("costs": {"overlapped": {"factor": 1, "saving": 1}})"),
       "c:2:25: error: costs.overlapped is an object; it must be an object with one key, \"factor\", "
       "\"saving\" or \"pairs\", or with "
       "\"default\" and \"stages\""},
      {with(R"("costs": {"rank_scale": 2})"),
       "c:2:25: error: costs.rank_scale is 2; it must be an array of factors, such as [1, 1, 1.1, 1], or "
       "{\"default\": 1, \"ranks\": {\"2\": 1.1}}"},
      {with(R"("costs": {"transfer": {"model": "lnk"}})"),
       "c:2:33: error: unknown costs.transfer.model 'lnk'; did you mean 'link'? valid: latency, blocking, "
       "async, "
       "link"},
      {with(R"("costs": {"transfer": {"model": "blocking", "plan": "ahead"}})"),
       "c:2:53: error: costs.transfer.plan \"ahead\" does not go with costs.transfer.model \"blocking\"; "
       "with it: "
       "auto, step, entry"},
      {with(R"("costs": {"transfer": {"bandwidth_gbps": 400}})"),
       "c:2:42: error: costs.transfer.bandwidth_gbps needs a real time unit, but costs.time_unit is "
       "\"unit\"; set it to s, ms, "
       "us or ns"},
      {with(R"("costs": {"time_unit": "s", "transfer": {"bandwidth_gbps": 0}})"),
       "c:2:60: error: costs.transfer.bandwidth_gbps is 0; it must be a number above 0, or a rate "
       "such as \"400Gbit/s\" or \"50GB/s\""},
      {with(R"("costs": {"transfer": {"intra": {"latency": 1}}})"),
       "c:2:33: error: costs.transfer.intra needs costs.transfer.ranks_per_node, which says who shares a "
       "node; give it, or leave "
       "intra out"},
      {with(R"("memory": {"activation_bytes": 1.5})"),
       "c:2:32: error: memory.activation_bytes is 1.5; it must be a whole number of bytes, 0 or more"},
      {with(R"("memory": {"limit_bytes": -1})"),
       "c:2:27: error: memory.limit_bytes is -1; it must be a whole number of bytes, 0 or more"},
      {with(R"("step": {"rule": "barier"})"),
       "c:2:18: error: unknown step.rule 'barier'; did you mean 'barrier'? valid: barrier, post-validation"},
      {with(R"("step": {"count": 0})"),
       "c:2:19: error: step.count is 0; it must be a whole number from 1 to 1048576"},
      {with(R"("costs": {"layers": 8})"),
       "c:2:21: error: costs.layers is 8; it must be an array of whole numbers, one for each stage that was "
       "measured"},
      {with(R"("costs": {"layers": [8, 1.5]})"),
       "c:2:25: error: costs.layers is 1.5; it must be a whole number from 0 to 1048576"},
      {with(R"("costs": {"stage_ranks": [-1]})"),
       "c:2:27: error: costs.stage_ranks is -1; it must be a whole number from 0 to 1048576"},
      {with(R"("costs": "no/such/costs.json")"),
       "c:2:10: error: costs names the file 'no/such/costs.json': cannot read it: No such file or directory; "
       "check the path and its permissions"},
  };
  for (const auto& [text, line] : cases) {
    INFO(text);
    CHECK(error_of(text) == line);
  }
}

TEST_CASE("quantities may say their unit") {
  const auto config =
      read(with(R"("costs": {"forward": "23.6ms", "backward": {"default": "1 s", "stages": {"3": 5}},
      "overlapped": "2.5ms", "transfer": {"latency": "40us", "bytes": "58.7MB", "bandwidth_gbps": "50GB/s"}},
      "memory": {"activation_bytes": ["715MB", 3], "limit_bytes": "80GiB"}, "step": {"optimizer": "7ms"})"));
  CHECK(config.costs.unit == TimeUnit::Millisecond);  // nobody gave another one
  CHECK(config.costs.duration[0]->scalar == 23'600'000'000);
  CHECK(config.costs.duration[1]->fallback == 1'000'000'000'000);
  CHECK(config.costs.duration[1]->exceptions[0].number == 5'000'000'000);  // plain numbers are ms
  CHECK(config.costs.overlap->duration.scalar == 2'500'000'000);
  CHECK(config.costs.transfer.link.latency == 40'000'000);
  CHECK(config.costs.transfer.bytes == 58'700'000);
  CHECK(config.costs.transfer.link.bits_per_second == 400'000'000'000);
  CHECK(config.memory.activation.array == std::vector<Bytes>{715'000'000, 3});
  CHECK(config.memory.limit->bytes == std::vector<Bytes>{Bytes{80} << 30});
  CHECK(config.step.optimizer == 7'000'000'000);
  CHECK(read(with(R"("costs": {"time_unit": "us", "forward": "23.6ms", "backward": 2})")).costs.unit ==
        TimeUnit::Microsecond);
}

TEST_CASE("a real time is no number of abstract units") {
  CHECK(error_of(with(R"("costs": {"time_unit": "unit", "forward": "23.6ms"})")) ==
        "c:2:43: error: costs.forward is the string '23.6ms', a real time, but costs.time_unit is \"unit\", "
        "which has no length; set it to s, ms, us or ns, or give a plain number");
  CHECK(error_of(with(R"("costs": {"forward": "soon"})")) ==
        "c:2:22: error: costs.forward is the string 'soon'; it must be a time of 0 or more, such as 23.6, or "
        "\"23.6ms\" with a unit (s, ms, us or ns)");
  CHECK(
      error_of(with(R"("memory": {"limit_bytes": "80G"})")) ==
      "c:2:27: error: memory.limit_bytes is the string '80G'; it must be a whole number of bytes, 0 or more, "
      "or a size such as \"80GB\" or \"75GiB\"");
}

TEST_CASE("values from options are named by their option") {
  Document doc;
  doc.set("ranks", "0", "--ranks");
  try {
    (void)read_run_config(doc.root());
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(error.line() == "--ranks: error: ranks is 0; it must be a whole number from 1 to 1048576");
  }
}

TEST_CASE("more digits than a tick holds are rounded with a warning") {
  // One tick of the abstract unit is 1e-9.
  const auto config = read(with(R"("costs": {"forward": 1.0000000006, "backward": 2})"));
  CHECK(config.costs.duration[0]->scalar == 1'000'000'001);
  REQUIRE(config.warnings.size() == 1);
  CHECK(config.warnings[0] ==
        "c:2:22: costs.forward is 1.0000000006, more digits than are kept; it was rounded");
}

TEST_CASE("costs for a schedule file need no shape") {
  const auto doc = Document::parse(R"({"costs": {"forward": 1, "backward": 2}})", "c");
  CHECK(read_run_config(doc.root(), Needs::CostsOnly).schedule.empty());
}

TEST_CASE("the table of keys names every parent before its children") {
  std::vector<std::string> seen = {""};
  for (const auto& key : config_keys()) {
    const auto dot = key.path.rfind('.');
    const std::string parent(dot == std::string_view::npos ? "" : key.path.substr(0, dot));
    INFO(key.path);
    CHECK(std::find(seen.begin(), seen.end(), parent) != seen.end());
    CHECK(std::find(seen.begin(), seen.end(), std::string(key.path)) == seen.end());
    seen.emplace_back(key.path);
  }
}

TEST_CASE("what a run measured besides its costs may stand among them and is not read") {
  const auto config =
      read(with(R"("costs": {"forward": 2, "measured": {"spread": {"forward": [-1, "x"]}}})"));
  CHECK(config.costs.duration[index_of(OpKind::Forward)]->scalar == 2 * ticks_per(TimeUnit::Unit));
  CHECK(error_of(with(R"("costs": {"measure": {}})")).find("unknown key of costs 'measure'") !=
        std::string::npos);
  CHECK(error_of(with(R"("measured": {})")).find("unknown configuration key 'measured'") !=
        std::string::npos);
}

}  // namespace run_config_test
