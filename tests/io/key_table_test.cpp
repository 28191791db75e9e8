// The table of configuration keys: what a row says is what reading, writing and patching do. And what a new key takes: a row.

#include <fmt/format.h>

#include <sstream>
#include <string>
#include <vector>

#include "sim/io/config/config.hpp"
#include "sim/io/config/key.hpp"
#include "sim/io/config/make_key.hpp"
#include "support/catch.hpp"

namespace key_table_test {

using namespace pipeloom;
using namespace pipeloom::io;

namespace {

/// A configuration in which every key may stand; costs.global_batch says the microbatches itself.
Document base(bool with_microbatches) {
  const std::string microbatches = with_microbatches ? R"("microbatches": 8, )" : "";
  return Document::parse(
      R"({"schedule": "1f1b", "ranks": 4, )" + microbatches +
          R"("costs": {"model": "m", "hardware": "h", "time_unit": "ms", "transfer": {"model": "link", "ranks_per_node": 2}}})",
      "c");
}

Config with(const Key& key, const std::string& json) {
  Document document = base(key.path != "costs.global_batch");
  // Keys that mean something beside another one alone.
  if (key.path == "options.recompute.method") document.set("options.recompute.layers", "2", "c");
  if (key.path == "costs.adapter_rank") document.set("costs.trainable", "\"none\"", "c");
  document.set(key.path, json, "c");
  return read_run_config(document.root());
}

std::string written(const Key& key, const Config& config) {
  std::ostringstream stream;
  TextWriter out(stream);
  key.write(key, out, config);
  out.flush();
  return stream.str();
}

/// Values in the spelling in which they are written.
std::vector<std::string> values_of(const Key& key) {
  switch (key.type) {
    case KeyType::Text:
      if (key.path == "options.recompute.modules") return {"\"mlp,moe\""};
      if (key.path == "costs.trainable") return {"\"none\"", "\"attention,head\""};
      return {"\"gpipe\"", "\"a b\""};
    case KeyType::Choice:
      if (key.path == "costs.time_unit") return {"\"us\""};
      if (key.path == "costs.transfer.plan") return {"\"auto\"", "\"ahead\""};
      return {fmt::format("\"{}\"", choices_of(key).back())};
    case KeyType::Flag:
      return {"true"};
    case KeyType::Count:
      return {std::to_string(key.minimum + 1), std::to_string(key.maximum)};
    case KeyType::Counts:
      if (key.path.ends_with(".stages")) return {"[0, 3]"};
      return {"[4, 0, 8]"};
    case KeyType::GroupSize:
      return {"5", "[5, 4, 4]"};
    case KeyType::Documents:
      return {"[4096, 2048, 2048]", "[[8192], [4096, 4096]]"};
    case KeyType::Slices:
      return {"[1, 2]"};
    case KeyType::Scales:
      return {"[1.0, 1.5]"};
    case KeyType::Decimal:
      if (key.path.starts_with("costs.hidden")) return {"0.25", "1.0"};
      return {"0.25", "7.0"};
    case KeyType::Time:
      return {"0.25", "7.0"};
    case KeyType::Bytes:
    case KeyType::Limit:
      return {"5", "4294967296"};
    case KeyType::TimeTable:
      return {"1.5", "[1.0, 2.5]"};
    case KeyType::BytesTable:
      return {"12", "[1, 2]"};
    case KeyType::Overlapped:
      return {"\"sequential\"", "{\"factor\": 1.2}", "{\"saving\": 0.5}", "2.5",
              "{\"pairs\": [[1.0, 2.0], [3.0, 4.0]]}"};
    case KeyType::Rows:
      if (key.path == "costs.table")
        return {R"([{"kind": "F", "stage": 1, "microbatch": 0, "time": 2.5}, {"time": 1.0}])"};
      return {R"([{"kind": "B", "rank": 3, "slice": 1, "time": 0.5}, {"stage": 2, "factor": 1.25}])"};
    case KeyType::Noise:
      return {R"({"model": "constant"})", R"({"model": "lognormal", "sigma": 0.03})",
              R"({"model": "empirical", "factors": [0.9, 1.1]})",
              R"({"model": "hiccup", "period": 100.0, "time": 5.0, "ranks": [1, 3]})"};
    case KeyType::Links:
      return {R"([{"from": 1, "to": 2, "latency": 0.5, "bytes": 7, "oneway": true}])",
              R"({"latency": [[0.0, 1.0], [2.0, 0.0]]})"};
    case KeyType::Object:
    case KeyType::Recompute:
    case KeyType::Offload:
      break;
  }
  return {};
}

}  // namespace

TEST_CASE("a key writes what it reads") {
  for (const Key& key : config_keys())
    for (const std::string& json : values_of(key)) {
      if (key.path == "costs.transfer.model") continue;  // "latency" and the plans of others: own tests
      CAPTURE(key.path, json);
      const Config config = with(key, json);
      CHECK(config.given.has(id_of(key)));
      CHECK(key.has(config));
      CHECK(written(key, config) == json);
    }
}

TEST_CASE("a patch stores what reading stores, or leaves it to the reader") {
  int patched = 0;
  for (const Key& key : config_keys()) {
    if (!key.patches_whole || !key.patchable) continue;
    for (const std::string& json : {std::string("3"), std::string("0"), std::string("0.5"), std::string("-1"),
                                    std::string("1e30"), std::string("\"gpipe\""), std::string("null")}) {
      CAPTURE(key.path, json);
      Config config = with(key, key.type == KeyType::Text ? "\"1f1b\"" : "1");
      if (!key.patch(key, config, kWhole, json, {})) continue;
      CHECK(written(key, config) == written(key, with(key, json)));
      ++patched;
    }
  }
  CHECK(patched > 30);
}

TEST_CASE("only what a key's values can hold is a place inside them") {
  const auto is_place = [](std::string_view key, std::string_view rest) {
    const Form& form = *find_config_key(key)->form;
    return form.is_place != nullptr && form.is_place(rest);
  };
  CHECK(is_place("costs.forward", "3"));
  CHECK(is_place("costs.forward", "stages.3"));
  CHECK(is_place("costs.overlapped", "factor"));
  CHECK(is_place("costs.rank_scale", "ranks.2"));
  CHECK(is_place("memory.limit_bytes", "0"));
  CHECK_FALSE(is_place("costs.forward", "03"));
  CHECK_FALSE(is_place("costs.forward", "factor"));
  CHECK_FALSE(is_place("ranks", "0"));
}

TEST_CASE("what is not given has the place of the group around it") {
  const auto document = Document::parse(
      "{\"schedule\": \"1f1b\", \"ranks\": 4, \"microbatches\": 8,\n \"costs\": {\"forward\": 1, "
      "\"backward\": 2}}",
      "c");
  const Config config = read_run_config(document.root());
  CHECK(config.place_of("costs.forward").text() == "c:2:23");
  CHECK(config.place_of("costs.transfer.plan").text() == "c:2:11");
  CHECK(config.place_of("memory.per").text() == "c:1:1");
  CHECK_FALSE(config.given.has("memory.per"));
}

TEST_CASE("copies of a configuration move their places apart") {
  const auto document = base(true);
  const Config one = read_run_config(document.root());
  Config other = one;
  other.given.move(id_of(*find_config_key("ranks")), Where{"d", 7, 1});
  CHECK(other.place_of("ranks").text() == "d:7:1");
  CHECK(one.place_of("ranks").text() == "c:1:31");
}

// A new key is a member of the configuration and this row; here the member is one that is there.
namespace {
constexpr Key kToy = option<codec::Count, &ScheduleOptions::offload, &OffloadOption::prefetch>(
    {.path = "options.toy", .help = "an example", .minimum = 2, .maximum = 9});
}

TEST_CASE("a row is all that a new key takes") {
  Config config;
  std::vector<std::string> warnings;
  const ReadContext context{kToy, TimeUnit::Unit, warnings};
  kToy.read(config, Document::parse("7", "c").root(), context);
  CHECK(config.options.offload.prefetch == 7);
  CHECK(written(kToy, config) == "7");
  CHECK_THROWS_WITH(kToy.read(config, Document::parse("1", "c").root(), context),
                    "options.toy is 1; it must be a whole number from 2 to 9");
  CHECK(kToy.patch(kToy, config, kWhole, "9", {}));
  CHECK_FALSE(kToy.patch(kToy, config, kWhole, "10", {}));
  CHECK(config.options.offload.prefetch == 9);
  CHECK(kToy.form->schema(kToy) == "\"type\": \"integer\", \"minimum\": 2, \"maximum\": 9");
  CHECK(kToy.mix(config.options, 0) != kToy.mix(ScheduleOptions(), 0));
}

}  // namespace key_table_test
