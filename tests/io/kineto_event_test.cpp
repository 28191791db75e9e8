// The members of events as KinetoEvents passes over them, against those of the tree that read_json() builds.

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/json/json_value.hpp"
#include "sim/io/traces/byte_source.hpp"
#include "sim/io/traces/json_scanner.hpp"
#include "sim/io/traces/kineto/event.hpp"
#include "support/catch.hpp"

namespace kineto_event_test {

using namespace pipeloom;

namespace {

/// All members, in the order of KinetoEvent; nullopt for a damaged event.
using Members = std::optional<std::vector<std::string>>;

Members by_events(std::string_view text) {
  io::KinetoEvents events;
  const auto event = events.read(text);
  if (!event) return std::nullopt;
  std::vector<std::string> out;
  for (const std::string_view member :
       {event->phase, event->category, event->name, event->process, event->thread, event->time, event->length,
        event->external_id, event->called})
    out.emplace_back(member);
  return out;
}

Members by_tree(std::string_view text) {
  const auto tree = io::read_json(text);
  if (!tree) return std::nullopt;
  std::vector<std::string> out;
  const auto add = [&out](const io::Value* object, const char* key) {
    const io::Value* value = object != nullptr ? object->find(key) : nullptr;
    out.push_back(value != nullptr ? std::string(value->text()) : std::string());
  };
  for (const char* key : {"ph", "cat", "name", "pid", "tid", "ts", "dur"}) add(&*tree, key);
  for (const char* key : {"External id", "name"}) add(tree->find("args"), key);
  return out;
}

}  // namespace

TEST_CASE("members of recorded events are those of their trees", "[traces]") {
  int compared = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(PIPELOOM_GOLDEN_DIR) + "/kineto")) {
    if (!entry.is_regular_file() || entry.path().string().find(".json") == std::string::npos) continue;
    INFO(entry.path());
    io::ByteSource source(entry.path().string());
    io::JsonScanner json(source);
    REQUIRE(json.enter('{'));
    std::string key;
    while (json.next_key(key)) {
      if (key != "traceEvents" || !json.enter('[')) {
        json.skip_value();
        continue;
      }
      for (; json.next_element(); ++compared) {
        const std::string text(json.take_value());
        if (by_events(text) != by_tree(text)) FAIL_CHECK(text);
      }
    }
  }
  CHECK(compared > 1000);
}

TEST_CASE("members of odd events are those of their trees", "[traces]") {
  for (
      const char* text : {
          R"({})",
          R"({ "ph" : "X" , "ts" : -0.5 , "dur" : 10 , "pid" : "a b" })",
          R"({"ph": "X", "args": {"External id": 7, "name": "x", "list": [1, [2, {"a": null}], true, false]}})",
          R"({"args": {"name": {"name": "inside"}}, "name": ["of", "a list"]})",
          R"({"args": "text", "name": "x"})",
          R"({"args": [], "name": 1.5e3, "ts": 1E6})",
          R"({"name": "a\"b\\cé", "ts": 1})",
          "{\"name\": \"\xC3\xA9\", \"ts\": 1}",
          R"({"ts": true, "dur": null, "tid": {}, "pid": []})",
          R"({"other": {"ph": "B", "args": {"name": "not this"}}, "ph": "E"})",
          // Damaged.
          "",
          "{",
          R"({"ph": "X")",
          R"({"ph": "X",})",
          R"({"ph" "X"})",
          R"({"ph": X})",
          R"({"ts": 01})",
          R"({"ts": 1.})",
          R"({"ts": -})",
          R"({"ph": "X"} x)",
          R"({"args": [1,]})",
          R"({"args": {"name": tru}})",
          "{\"name\": \"a\nb\"}",
      }) {
    INFO(text);
    CHECK(by_events(text) == by_tree(text));
  }
  // As deep as neither passes plainly.
  const std::string deep =
      fmt::format(R"({{"args": {{"x": {}1{}}}, "ph": "X"}})", std::string(40, '['), std::string(40, ']'));
  CHECK(by_events(deep) == by_tree(deep));
  CHECK(by_events(deep).value().front() == "X");
}

TEST_CASE("members given twice are those of their trees", "[traces]") {
  for (const char* text : {R"({"ph": "X", "ph": "B"})", R"({"args": {"name": "a"}, "args": {"name": "b"}})",
                           R"({"args": {"External id": 1}, "args": {"name": "b"}})",
                           R"({"args": {"name": "a", "name": "b"}})"}) {
    INFO(text);
    CHECK(by_events(text) == by_tree(text));
  }
}

}  // namespace kineto_event_test
