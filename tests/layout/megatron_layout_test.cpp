#include "sim/layout/megatron_layout.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "support/catch.hpp"
#include "support/random_problem.hpp"

namespace pipeloom::layout::megatron_layout_test {
namespace {

using Catch::Matchers::Contains;
using Stages = std::vector<std::string>;

Stages parsed(const std::string& text) {
  return parse_megatron_layout(text).stages;
}

/// The full error line, with the place.
std::string refusal_of(const std::string& text) {
  try {
    (void)parse_megatron_layout(text, "layout");
  } catch (const InputError& error) {
    return error.line();
  }
  return "";
}

std::string written(const Stages& stages) {
  return to_text(MegatronLayout{stages});
}

/// The first check that a layout fails for so many ranks, or "".
std::string check(const std::string& text, int ranks, LayoutModel model = {}) {
  try {
    (void)contents_of(parse_megatron_layout(text), ranks, model);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("layout strings: Megatron-LM's example") {
  Stages expected = {"Ettt"};
  expected.insert(expected.end(), 29, "tt");
  expected.emplace_back("m");
  expected.emplace_back("L");
  CHECK(parsed("Et*3|(tt|)*29,m|L") == expected);
  CHECK(written(expected) == "Ettt|(tt|)*29,m|L");
  const auto contents = contents_of(MegatronLayout{expected}, 16, {.layers = 61, .mtp = 1});
  CHECK(contents.size() == 32);
  CHECK(contents[0] == StageContent{.embedding = true, .layers = 3});
  CHECK(contents[30] == StageContent{.mtp = 1});
  CHECK(contents[31] == StageContent{.head = true});
}

TEST_CASE("layout strings: letters, repeats, groups, commas") {
  CHECK(parsed("") == Stages{""});
  CHECK(parsed("EttL") == Stages{"EttL"});
  CHECK(parsed("E||L") == Stages{"E", "", "L"});
  CHECK(parsed("E|*3L") == Stages{"E", "", "", "L"});
  CHECK(parsed("t*12") == Stages{"tttttttttttt"});
  CHECK(parsed("Et*0L") == Stages{"EL"});
  CHECK(parsed("(t|)*0E") == Stages{"E"});
  CHECK(parsed("(|tt)*2") == Stages{"", "tt", "tt"});
  CHECK(parsed("Et(t*2|tm)*2,L") == Stages{"Ettt", "tmtt", "tmL"});
  // Commas are taken out before anything is read, so this is t*12.
  CHECK(parsed(",t,*1,2,") == parsed("t*12"));
}

TEST_CASE("layout strings: what cannot be read is named with its column") {
  CHECK_THAT(refusal_of("Et|x"), Contains("layout:1:4: error: found 'x'"));
  CHECK_THAT(refusal_of("E t"), Contains("layout:1:2: error: found ' '"));
  CHECK_THAT(refusal_of("ET"), Contains(":1:2: error: found 'T'"));
  CHECK_THAT(refusal_of("*3"), Contains(":1:1: error: '*' repeats nothing"));
  CHECK_THAT(refusal_of("t*2*3"), Contains(":1:4: error: '*' repeats nothing"));
  CHECK_THAT(refusal_of("t*"), Contains(":1:2: error: '*' has no number"));
  CHECK_THAT(refusal_of("t*-1"), Contains(":1:2: error: '*' has no number"));
  CHECK_THAT(refusal_of("t)"), Contains(":1:2: error: ')' closes no group"));
  CHECK_THAT(refusal_of("t(t"), Contains(":1:2: error: the group is not closed"));
  CHECK_THAT(refusal_of("(t|)"), Contains(":1:1: error: the group has no repeat"));
  CHECK_THAT(refusal_of("()*2"), Contains(":1:1: error: the group is empty"));
  CHECK_THAT(refusal_of("((t|)*2)*2"), Contains(":1:2: error: a group in a group"));
  CHECK_THAT(refusal_of(std::string("t\n")), Contains(":1:2: error: found '?'"));
}

TEST_CASE("layout strings: hostile sizes are refused before they are made") {
  CHECK_THAT(refusal_of("t*99999999999999999999"), Contains("grow to more than 1000000000000 letters"));
  CHECK_THAT(refusal_of("(t*9999)*9999"),
             Contains("grow to 99980001 letters and stages here; at most 1048576"));
  CHECK_THAT(refusal_of("((((t*9999)*9999"), Contains("a group in a group"));
  CHECK(parse_megatron_layout("t*1048576").stages.front().size() == 1048576);
  CHECK_THAT(refusal_of("t*1048576|"), Contains("grow to 1048577"));
  const auto begin = std::chrono::steady_clock::now();
  CHECK_THAT(refusal_of("(" + std::string(100000, 't') + ")*1000000000"), Contains("grow to"));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
}

TEST_CASE("layout strings: written with repeats and groups where shorter") {
  CHECK(written({""}).empty());
  CHECK(written({"Ett", "tt", "ttL"}) == "Ett|tt|ttL");
  CHECK(written({"Etttt", "tttt", "tttt", "ttttL"}) == "Et*4|t*4|t*4|t*4,L");
  CHECK(written({"Et", "t", "t", "t", "t", "t", "t", "tL"}) == "Et|(t|)*6,tL");
  CHECK(written({"E", "t", "tt", "t", "tt", "t", "tt", "L"}) == "E|(t|tt|)*3,L");
  // With the comma behind it a group must save two characters to save any.
  CHECK(written({"E", "", "", "", "", "L"}) == "E|||||L");
  CHECK(written({"E", "", "", "", "", "", "L"}) == "E||*5,L");
}

TEST_CASE("layout strings: reading what was written gives the same") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    test::Random random(seed);
    Stages stages(static_cast<std::size_t>(1 + random.below(40)));
    const Stages kinds = {"", "t", "tt", "tttt", "ttttttttttttt", "m", "EtL"};
    for (std::size_t k = 0; k < stages.size(); ++k)
      stages[k] = k > 1 && random.chance(70) ? stages[k - static_cast<std::size_t>(1 + random.below(2))]
                                             : kinds[static_cast<std::size_t>(random.below(7))];
    const std::string text = written(stages);
    INFO("seed " << seed << ": " << text);
    CHECK(parsed(text) == stages);
    CHECK(written(parsed(text)) == text);
    std::size_t plain = stages.size() - 1;
    for (const std::string& stage : stages) plain += stage.size();
    CHECK(text.size() <= plain);
  }
}

TEST_CASE("layout checks: number of stages, E and L, layers") {
  CHECK(check("Et|tL", 2).empty());
  CHECK_THAT(check("Et|t|L", 2), Contains("3 stages, no multiple of 2 ranks"));
  CHECK_THAT(check("tE|tL", 2), Contains("1 times E (embedding), but not first"));
  CHECK_THAT(check("t|EtL", 2), Contains("write it once, as the first of all letters"));
  CHECK_THAT(check("Et|EtL", 2), Contains("2 times E"));
  CHECK_THAT(check("Et|tt", 2), Contains("0 times L (loss)"));
  CHECK_THAT(check("EtL|t", 2), Contains("1 times L (loss), but not last"));
  CHECK_THAT(check("Et|tL", 2, {.layers = 3}), Contains("2 times t, the model 3 decoder layers"));
  CHECK_THAT(check("Et|tL", 2, {.mtp = 1}), Contains("0 times m, the model 1 MTP layers"));
  CHECK(check("Ettm*2L", 1, {.layers = 2, .mtp = 2}).empty());
}

TEST_CASE("layout checks: MTP layers") {
  CHECK(check("Et|t|tm|L", 4).empty());
  CHECK(check("Et|tt|t|mL", 2).empty());
  CHECK_THAT(check("Et|m|t|L", 4), Contains("a decoder layer (t) stands behind an MTP layer"));
  CHECK_THAT(check("Emt|L", 2), Contains("the order within a stage is E, t, m, L"));
  CHECK_THAT(check("Et|t|m|mL", 4), Contains("stand in several stages"));
  CHECK_THAT(check("Et|tm||L", 2),
             Contains("stage 1, chunk 0 of rank 1; they must be in the last chunk of a rank, "
                      "which are stages 2 to 3"));
}

TEST_CASE("layout checks: empty stages may come first and last, and MTP layers in the last chunk of rank 0") {
  CHECK(check("|EtL", 2).empty());
  CHECK(check("EtL|", 2).empty());
  CHECK(check("Ettm|L", 2).empty());
  CHECK(check("Et|tt|tmm|L", 2).empty());
  CHECK_THAT(check("||", 3), Contains("0 times E"));
}

TEST_CASE("layout strings: a second repeat is of the letter in front of it") {
  CHECK(parsed("Ett|(tt|)*2*3L") == Stages{"Ett", "tt", "tt", "", "", "L"});
  CHECK(parsed("E(t)*2*3L") == Stages{"EttttL"});  // tt, and two more of the last one
  CHECK(parsed("E|(t|)*0*3L") == Stages{"E", "", "", "L"});
  CHECK_THAT(refusal_of("E(t*2)*2*3L"), Contains("'*' repeats nothing"));
  CHECK_THAT(refusal_of("Et*2*2L"), Contains("'*' repeats nothing"));
}

TEST_CASE("layout strings: Megatron-core's own verdict on 1,500 random strings") {
  std::size_t taken = 0;
  const auto cases =
      nlohmann::json::parse(std::ifstream(PIPELOOM_GOLDEN_DIR "/layout/megatron_strings.json"));
  for (const auto& [text, ranks, stages] :
       cases.get<std::vector<std::tuple<std::string, int, nlohmann::json>>>()) {
    INFO(text << " on " << ranks << " ranks");
    if (stages.is_null()) {
      CHECK_THROWS_AS(contents_of(parse_megatron_layout(text), ranks), InputError);
      continue;
    }
    ++taken;
    CHECK(parsed(text) == stages.get<Stages>());
    CHECK_NOTHROW(contents_of(parse_megatron_layout(text), ranks));
  }
  CHECK(cases.size() == 1500);
  CHECK(taken == 329);
}

TEST_CASE("layout checks: each says where") {
  const auto place = [](const std::string& text, int ranks, LayoutModel model = {}) {
    try {
      (void)contents_of(parse_megatron_layout(text, "--megatron-layout"), ranks, model);
    } catch (const InputError& error) {
      return error.where().text();
    }
    return std::string("taken");
  };
  CHECK(place("Et|tL", 2) == "taken");
  CHECK(place("Et|t|L", 2) == "--megatron-layout:1:1");
  CHECK(place("tE|tL", 2) == "--megatron-layout:1:2");   // the E that is not first
  CHECK(place("Et|EtL", 2) == "--megatron-layout:1:4");  // the second E
  CHECK(place("tt|tL", 2) == "--megatron-layout:1:1");   // where the E must be
  CHECK(place("Et|tt", 2) == "--megatron-layout:1:6");   // behind the last letter
  CHECK(place("EtL|t", 2) == "--megatron-layout:1:3");   // the L that is not last
  CHECK(place("Et|tL", 2, {.layers = 3}) == "--megatron-layout:1:1");
  CHECK(place("Emt|L", 2) == "--megatron-layout:1:3");      // the t behind m
  CHECK(place("Et|m|t|L", 4) == "--megatron-layout:1:6");   // the t
  CHECK(place("Et|t|m|mL", 4) == "--megatron-layout:1:8");  // the second m
  // What a repeat makes stands where its letter does: (t|)*2 gives stages 1 and 2 the t at column 5.
  CHECK(place("Em|(t|)*2,L", 4) == "--megatron-layout:1:5");
}

TEST_CASE("layouts say loop placements only") {
  CHECK(layout_refusal(Placement::loop(4, 3)).empty());
  CHECK(layout_refusal(Placement::linear(4)).empty());
  CHECK_THAT(layout_refusal(Placement::wave(4, 2)),
             Contains("stage 4 is on rank 3, and a layout string always puts "
                      "stage k on rank k mod 4, here 0"));
  CHECK_THAT(layout_refusal(Placement::bidirectional(4)), Contains("the model is there 2 times"));
}

TEST_CASE("layout of contents and back") {
  const std::vector<StageContent> contents = contents_of(std::vector<int>{3, 4, 4, 3}, 2);
  const MegatronLayout layout = layout_of(contents);
  CHECK(to_text(layout) == "Ettt|t*4|t*4|tttmmL");
  CHECK(contents_of(layout, 4, {.layers = 14, .mtp = 2}) == contents);
}

}  // namespace pipeloom::layout::megatron_layout_test
