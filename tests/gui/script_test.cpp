// Scripts: what is read, what is refused and where, what an expectation says.

#include "gui/model/session/script.hpp"

#include <string>

#include <pipeloom/error.hpp>
#include "support/catch.hpp"

namespace pipeloom::gui::script_test {
namespace {

ScriptCommand one(const std::string& line) {
  const Script script = parse_script(line, "a.script");
  REQUIRE(script.size() == 1);
  return script.front();
}

/// "line:column: message" of what is refused.
std::string refusal(const std::string& text) {
  try {
    (void)parse_script(text, "a.script");
  } catch (const InputError& error) {
    return std::to_string(error.where().line) + ":" + std::to_string(error.where().column) + ": " +
           error.what();
  }
  return "nothing";
}

std::string check(const std::string& expectation, const std::string& state) {
  return check_expectation(one("expect " + expectation), state);
}

TEST_CASE("scripts: one command a line, comments and blank lines aside") {
  const Script script = parse_script("# a walk\n\nopen a b.json  # with a blank\n  quit\n", "a.script");
  REQUIRE(script.size() == 2);
  CHECK(script[0].verb == ScriptVerb::Open);
  CHECK(script[0].word == "a b.json");
  CHECK(script[0].where.text() == "a.script:3:1");
  CHECK(script[1].verb == ScriptVerb::Quit);
  CHECK(script[1].where.text() == "a.script:4:3");
}

TEST_CASE("scripts: a key with what is held, perhaps for some frames") {
  const ScriptCommand tap = one("key ctrl+shift+p");
  CHECK(tap.chord == Chord{key_of('P'), true, true, false});
  CHECK(tap.number == 1);
  CHECK(one("key w 12").number == 12);
}

TEST_CASE("scripts: places are points or names") {
  const ScriptCommand drag = one("drag 10,20.5 op:2/0F7 shift middle");
  REQUIRE(drag.targets.size() == 2);
  CHECK(drag.targets[0].is_point);
  CHECK(drag.targets[0].x == 10.0F);
  CHECK(drag.targets[0].y == 20.5F);
  CHECK_FALSE(drag.targets[1].is_point);
  CHECK(drag.targets[1].text == "op:2/0F7");
  CHECK(drag.chord == Chord{Key::None, false, true, false});
  CHECK(drag.button == MouseButton::Middle);
  const ScriptCommand wheel = one("wheel -3 item:params/ranks ctrl+shift");
  CHECK(wheel.number == -3);
  CHECK(wheel.chord == Chord{Key::None, true, true, false});
}

TEST_CASE("scripts: a quoted text may hold anything") {
  CHECK(one(R"(type "a # \"b\"\u00e9\n")").word == "a # \"b\"\xc3\xa9\n");
  CHECK(one(R"(click "item:schedules/1f1b overlap")").targets[0].text == "item:schedules/1f1b overlap");
  const ScriptCommand set = one("set costs.backward [2, 2.5]  # uneven");
  CHECK(set.word == "costs.backward");
  CHECK(set.value == "[2, 2.5]");
}

TEST_CASE("scripts: a command that must fail, and with which words") {
  CHECK(one("expect-error").verb == ScriptVerb::ExpectError);
  CHECK(one("expect-error 0.5 to 4").word == "0.5 to 4");
}

TEST_CASE("expectations: an index that is no number of this machine is not there") {
  CHECK(check("/a/100000000000000000000000 == 1", R"({"a": [1]})").find("is not there") != std::string::npos);
  CHECK(check("/a/01 absent", R"({"a": [1, 2]})").empty());
}

TEST_CASE("scripts: waiting is for rest or for a time") {
  CHECK(one("wait idle").verb == ScriptVerb::WaitIdle);
  CHECK(one("wait idle 250").number == 250);
  CHECK(one("wait 250").verb == ScriptVerb::WaitMs);
}

TEST_CASE("scripts: what cannot be meant is refused where it stands") {
  CHECK(refusal("quit\nclik 1,2\n").rfind("2:1: ", 0) == 0);
  CHECK(refusal("clik 1,2").find("click") != std::string::npos);
  CHECK(refusal("click here").rfind("1:7: found 'here'; a place is", 0) == 0);
  CHECK(refusal("click").rfind("1:6: found the end of the line", 0) == 0);
  CHECK(refusal("click 1,2 sideways").rfind("1:11: found 'sideways'", 0) == 0);
  CHECK(refusal("key wibble").rfind("1:5: found 'wibble', which names no key", 0) == 0);
  CHECK(refusal("do zoom-inn").rfind("1:4: ", 0) == 0);
  CHECK(refusal("do quitt").find("quit") != std::string::npos);
  CHECK(refusal("type \"abc").rfind("1:6: found a quote that does not end", 0) == 0);
  CHECK(refusal("expect runs == 1").rfind("1:8: found 'runs'; a JSON pointer is", 0) == 0);
  CHECK(refusal("expect /runs is 1").rfind("1:14: found 'is'; allowed are", 0) == 0);
  CHECK(refusal("expect /runs ==").rfind("1:16: found the end of the line", 0) == 0);
  CHECK(refusal("size 10 10").rfind("1:6: ", 0) == 0);
  CHECK(refusal("scale 9").rfind("1:7: ", 0) == 0);
  CHECK(refusal("theme blue").rfind("1:7: ", 0) == 0);
  CHECK(refusal("quit now").rfind("1:6: found 'now'", 0) == 0);
  CHECK(refusal("wait 1.5").rfind("1:6: ", 0) == 0);
}

TEST_CASE("expectations: what holds says nothing") {
  const std::string state = R"({"a": [1, "two words", {"b/c": 2.5}], "t": "dark", "n": null})";
  CHECK(check("/a/0 == 1", state).empty());
  CHECK(check("/a/0 == 1.0", state).empty());
  CHECK(check("/a/2/b~1c >= 2.5", state).empty());
  CHECK(check("/a/2/b~1c < 3", state).empty());
  CHECK(check("/t == dark", state).empty());
  CHECK(check("/t == \"dark\"", state).empty());
  CHECK(check("/t != light", state).empty());
  CHECK(check("/n == null", state).empty());
  CHECK(check("/a size 3", state).empty());
  CHECK(check("/a contains words", state).empty());
  CHECK(check("/a contains 1", state).empty());
  CHECK(check("/t contains ar", state).empty());
  CHECK(check("/a/2 contains b/c", state).empty());
  CHECK(check("/a/2/b~1c exists", state).empty());
  CHECK(check("/z absent", state).empty());
}

TEST_CASE("expectations: what does not hold says what was found and what was wanted") {
  const std::string state = R"({"a": [1, 2], "t": "dark"})";
  CHECK(check("/a/0 == 2", state) == "/a/0 is 1; wanted == 2");
  CHECK(check("/a/0 > 1", state) == "/a/0 is 1; wanted > 1");
  CHECK(check("/t < 3", state) == "/t is \"dark\"; wanted < 3");
  CHECK(check("/t contains light", state) == "/t is \"dark\"; wanted contains light");
  CHECK(check("/a size 3", state) == "/a is [1,2]; wanted size 3");
  CHECK(check("/a/7 == 2", state) == "/a/7 is not there; wanted == 2");
  CHECK(check("/t absent", state) == "/t is \"dark\"; wanted absent");
}

}  // namespace
}  // namespace pipeloom::gui::script_test
