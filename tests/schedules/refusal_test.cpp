// Names, refusals and what they suggest.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <regex>
#include <string>
#include <vector>

#include "schedules/generator.hpp"
#include "schedules/interleaved_order.hpp"
#include "schedules/nearest.hpp"
#include "schedules/recorded.hpp"
#include "sim/engine/simulator.hpp"
#include "support/catch.hpp"

namespace pipeloom::schedules::refusal_test {
namespace {

const Generator& named(const std::string& name) {
  return *find(name).generator;
}

/// The order, whatever make() would say about it.
Schedule emitted(const Generator& generator, const Params& params) {
  Emission unused;
  return generator.emit(params, {}, unused);
}

/// The numbers of "; try 4, 6 or 8", without those of "group_size = 4".
std::vector<int> suggested(const std::string& refusal) {
  const auto begin = refusal.rfind("; try ");
  if (begin == std::string::npos) return {};
  std::string list = refusal.substr(begin);
  list = list.substr(0, list.find(" group_size"));
  const std::regex number("[0-9]+");
  std::vector<int> values;
  for (std::sregex_iterator it(list.begin(), list.end(), number), end; it != end; ++it)
    values.push_back(std::stoi(it->str()));
  return values;
}

/// Whether one of the parameters, set to the value, makes them legal.
bool helps(const Generator& generator, const Params& params, int value) {
  Params ranks = params;
  ranks.ranks = value;
  Params microbatches = params;
  microbatches.microbatches = value;
  Params chunks = params;
  chunks.chunks = value;
  Params group_size = params;
  group_size.options.group_size = value;
  for (const Params& changed : {ranks, microbatches, chunks, group_size})
    if (refusal(generator, changed).empty()) return true;
  return false;
}

}  // namespace

TEST_CASE("names are found as spelt, case ignored") {
  CHECK(find("1f1b").alias == nullptr);
  CHECK(named("1F1B").name == "1f1b");
  CHECK(named("gpipe").name == "gpipe");
  CHECK(named("GPipe").name == "gpipe");
  CHECK(named("zb1p").name == "zb-h1");
  CHECK(named("1f1b_overlap").name == "1f1b-overlap");
  CHECK(named("interleave_overlap").name == "interleaved-1f1b-overlap");
  CHECK(named("1f1b_interleave_overlap").name == "interleaved-1f1b-overlap");
  CHECK(named("megatron-combined-1f1b").name == "interleaved-1f1b-overlap");
  CHECK(named("DualPipeV").name == "dualpipe-v");
  CHECK(named("dualpipe_v").name == "dualpipe-v");
  CHECK(named("afab").name == "gpipe");
  CHECK(named("AFAB").name == "gpipe");
  CHECK(named("all-forward-all-backward").name == "gpipe");
  CHECK(named("LoopedBFS").name == "looped-bfs");
  CHECK(named("InterleavedZeroBubble").name == "interleaved-zb");
  CHECK(named("ZBVZeroBubble").name == "zbv");
  CHECK(named("zb-v").name == "zbv");
  CHECK(named("GIS-H").name == "grouped-interleaved");
  CHECK(named("eager1f1b").name == "eager-1f1b");
}

TEST_CASE("names are found without hyphens and underscores where that is unique") {
  CHECK(named("vhalf").name == "v-half");
  CHECK(named("Dual-Pipe").name == "dualpipe");
  CHECK(named("interleaved1f1boverlap").name == "interleaved-1f1b-overlap");
}

TEST_CASE("ZBH1 is Paddle's word, zb-h1 the paper's") {
  const auto variant = [](const std::string& name) {
    const Found found = find(name);
    Params params{.ranks = 4, .microbatches = 8};
    if (found.alias != nullptr && found.alias->defaults) found.alias->defaults(params);
    return found.generator->name + ' ' + params.options.variant;
  };
  CHECK(variant("ZBH1") == "zb-h1 partial");
  CHECK(variant("zb-h1") == "zb-h1 ");
  CHECK(variant("zb_h1") == "zb-h1 ");
}

TEST_CASE("words of other stacks that have no order here lead to a sentence") {
  CHECK_THROWS_WITH(find("seqvpp"),
                    Catch::Contains("no order of MindSpore's seqvpp is recorded; seq-1f1b has"));
  CHECK_THROWS_WITH(find("InterleavedGPipe"), Catch::Contains("options.variant = all-forwards"));
}

TEST_CASE("an alias brings its framework's group size") {
  const auto group_size = [](const std::string& name, int ranks, int microbatches) {
    const Found found = find(name);
    Params params{.ranks = ranks, .microbatches = microbatches, .chunks = 2};
    if (found.alias != nullptr && found.alias->defaults) found.alias->defaults(params);
    return group_size_of(params);
  };
  // PyTorch: R = max(1, 10 div 4) = 2 rounds of 10 / 2 = 5 microbatches.
  CHECK(group_size("Interleaved1F1B", 4, 10) == 5);
  CHECK(group_size("interleaved1f1b", 4, 10) == 5);
  // Fewer microbatches than ranks: one round of all.
  CHECK(group_size("Interleaved1F1B", 4, 3) == 3);
  CHECK(group_size("InterleavedZeroBubble", 4, 10) == 5);
  for (const char* name : {"interleaved-1f1b", "interleaved_1f1b", "interleave", "interleaved-zb"})
    CHECK(group_size(name, 4, 10) == 4);
}

TEST_CASE("a group size that is given wins over the alias") {
  Params params{.ranks = 4, .microbatches = 9, .chunks = 2, .options = {.group_size = 9}};
  find("Interleaved1F1B").alias->defaults(params);
  CHECK(params.options.group_size == 9);
}

TEST_CASE("Megatron-LM's names refuse what Megatron-LM refuses, and what they take never hangs") {
  for (const char* name : {"megatron-interleaved", "megatron-combined-1f1b"}) {
    const Found found = find(name);
    int taken = 0;
    for (int p = 1; p <= 5; ++p)
      for (int v = 1; v <= 3; ++v)
        for (int n = 1; n <= 14; ++n)
          for (int m = 1; m <= 14; ++m) {
            Params params{.ranks = p, .microbatches = m, .chunks = v, .options = {.group_size = n}};
            const bool fits = p > 1 && v > 1 && p <= n && n <= m && (m % n == 0 || m % n >= p);
            INFO(name << ": p = " << p << ", v = " << v << ", N = " << n << ", m = " << m);
            if (!fits) {
              CHECK_THROWS_AS(found.alias->defaults(params), ScheduleError);
              continue;
            }
            found.alias->defaults(params);
            CHECK(refusal(*found.generator, params).empty());
            ++taken;
          }
    CHECK(taken > 100);
  }
}

TEST_CASE("Megatron-LM's names say what would be taken") {
  const auto text = [](Params params) {
    try {
      find("megatron-interleaved").alias->defaults(params);
    } catch (const ScheduleError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  // Groups of p = 4: 10 leaves 2. Of 5 there would be two.
  CHECK(text({.ranks = 4, .microbatches = 10, .chunks = 2}) ==
        "megatron-interleaved with ranks = 4, chunks = 2, microbatches = 10: Megatron-LM refuses this: the "
        "last group "
        "has 2 microbatches, and must have 0 or at least 4; try 8 or 12 microbatches, or group_size = 5");
  CHECK_THAT(text({.ranks = 4, .microbatches = 8, .chunks = 2, .options = {.group_size = 3}}),
             Catch::Contains("group_size = 3 must be from ranks to microbatches; try group_size = 4"));
  CHECK_THAT(text({.ranks = 4, .microbatches = 3, .chunks = 2}), Catch::Contains("try 4 microbatches"));
  CHECK_THAT(text({.ranks = 4, .microbatches = 8, .chunks = 1}), Catch::Contains("try chunks = 2"));
  CHECK_THAT(text({.ranks = 1, .microbatches = 8, .chunks = 2}), Catch::Contains("2 ranks or more"));
}

TEST_CASE("PyTorch's round rule refuses what PyTorch refuses") {
  Params params{.ranks = 4, .microbatches = 9, .chunks = 2};
  // R = 9 div 4 = 2 does not divide 9; 8 = 2 * 4 and 10 = 2 * 5 do.
  CHECK_THROWS_WITH(find("Interleaved1F1B").alias->defaults(params), Catch::Contains("try 8 or 10"));
  // R = 5 div 2 = 2 does not divide 5.
  params = {.ranks = 2, .microbatches = 5, .chunks = 2};
  CHECK_THROWS_WITH(find("InterleavedZeroBubble").alias->defaults(params),
                    Catch::StartsWith("InterleavedZeroBubble with ranks = 2, microbatches = 5") &&
                        Catch::Contains("try 4 or 6"));
}

TEST_CASE("an unknown name suggests the nearest, and the ten that look most like it") {
  try {
    (void)find("dualpip");
    FAIL("found");
  } catch (const InputError& error) {
    const std::string text = error.what();
    CHECK(text.find("dualpipe") != std::string::npos);
    CHECK(text.find("dualpipe-v") != std::string::npos);
    CHECK(std::count(text.begin(), text.end(), ',') <= 10);
    CHECK(text.size() < 500);
  }
}

TEST_CASE("names and aliases are unique") {
  std::vector<std::string> names;
  for (const Generator& generator : all()) {
    names.push_back(generator.name);
    for (const Alias& alias : generator.aliases) {
      CHECK(find(alias.name).generator == &generator);
      if (find(alias.name).alias != nullptr) names.push_back(alias.name);
    }
  }
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

TEST_CASE("refusals say what was found, what is needed and what to try") {
  const auto text = [](const std::string& name, const Params& params) {
    return refusal(named(name), params);
  };
  CHECK(text("dualpipe", {.ranks = 5, .microbatches = 12}) ==
        "dualpipe needs an even number of ranks, not 5; try 4 or 6");
  CHECK(text("dualpipe", {.ranks = 4, .microbatches = 7}) ==
        "dualpipe needs an even number of microbatches, not 7; try 6 or 8");
  CHECK(text("dualpipe", {.ranks = 8, .microbatches = 4}) ==
        "dualpipe needs at least 14 microbatches with ranks = 8, not 4; try 14");
  CHECK(text("dualpipe-v", {.ranks = 4, .microbatches = 6, .chunks = 2}) ==
        "dualpipe-v needs at least 7 microbatches with ranks = 4, not 6; try 7");
  CHECK(text("dualpipe-v", {.ranks = 4, .microbatches = 8}) == "dualpipe-v needs chunks = 2, not 1; try 2");
  CHECK(text("1f1b", {.ranks = 0}) == "1f1b needs ranks from 1 to 1048576, not 0; try 1");
  CHECK(text("1f1b", {.microbatches = -3}) == "1f1b needs microbatches from 1 to 1048576, not -3; try 1");
  CHECK(text("gpipe", {.options = {.group_size = 4}}) == "gpipe has no groups: remove group_size");
  CHECK(text("interleaved-1f1b", {.chunks = 2, .options = {.group_size = 0}}) ==
        "interleaved-1f1b needs a group_size from 1 to 1048576, not 0; try 4");
}

TEST_CASE("an order that hangs is refused with its cycle") {
  CHECK(refusal(named("interleaved-1f1b"), {.ranks = 4, .microbatches = 5, .chunks = 3}) ==
        "interleaved-1f1b with ranks = 4, chunks = 3, microbatches = 5 would hang (rank 0 waits at 8F4 for "
        "7F4 of "
        "rank 3, rank 3 waits at 7B0 for 8B0 of rank 0: a cycle); try 4, 6 or 8");
  const std::string small_groups = refusal(
      named("interleave"), {.ranks = 4, .microbatches = 8, .chunks = 2, .options = {.group_size = 2}});
  CHECK_THAT(small_groups, Catch::Contains("group_size = 2, microbatches = 8 would hang (rank "));
  CHECK_THAT(small_groups, Catch::EndsWith("; try 3, or group_size = 4"));
}

TEST_CASE("a group that is too short or too long for grouped interleaving is refused by its rule") {
  const Generator& generator = named("grouped-interleaved");
  for (const auto& [g, nearest_legal] : {std::pair(1, 3), {2, 3}, {7, 6}, {100, 6}}) {
    const std::string reason =
        refusal(generator, {.ranks = 6, .microbatches = 8, .chunks = 2, .options = {.group_size = g}});
    CHECK_THAT(reason, Catch::Contains("breaks the rule of groups: at least half of the ranks, 3,") &&
                           Catch::EndsWith(fmt::format("; try group_size = {}", nearest_legal)));
  }
  // Below (p - 1)/2 the order itself would hang as soon as there is a second group.
  for (int p = 1; p <= 8; ++p)
    for (int g = 1; g <= p; ++g) {
      const Params params{.ranks = p, .microbatches = 3 * g, .chunks = 3, .options = {.group_size = g}};
      CHECK(find_hang(emitted(generator, params)).has_value() == (2 * g < p - 1));
    }
}

TEST_CASE("a variant brings its chunks") {
  CHECK(default_chunks(named("gpipe").requirements, "") == 1);
  CHECK(default_chunks(named("gpipe").requirements, "linear") == 1);
  CHECK(default_chunks(named("gpipe").requirements, "v") == 2);
  CHECK(default_chunks(named("hanayo").requirements, "oldest") == 2);
  CHECK_THAT(refusal(named("gpipe"), {.chunks = 2}),
             Catch::Contains("has one chunk per rank, or two with variant = v"));
}

TEST_CASE("variants are refused by name") {
  CHECK(refusal(named("grouped-interleaved"), {.chunks = 2, .options = {.variant = "gis-x"}}) ==
        "grouped-interleaved has the variants gis, gis-h, not gis-x");
  CHECK(refusal(named("1f1b"), {.options = {.variant = "gis"}}) == "1f1b has no variants: remove variant");
}

TEST_CASE("every suggested value is accepted") {
  int suggestions = 0;
  for (const Generator& generator : all())
    for (const int p : {-1, 0, 1, 2, 3, 4, 7, 8})
      for (const int m : {-1, 0, 1, 2, 3, 5, 7, 9, 13, 20})
        for (int v = 0; v <= 3; ++v)
          for (int n = -1; n <= 3; ++n) {
            Params params{.ranks = p, .microbatches = m, .chunks = v};
            if (n >= 0) params.options.group_size = n;
            const std::string reason = refusal(generator, params);
            for (const int value : suggested(reason)) {
              INFO(reason);
              CHECK(helps(generator, params, value));
              ++suggestions;
            }
          }
  CHECK(suggestions > 500);
}

TEST_CASE("the rule for hanging interleaved orders is exact") {
  int hangs = 0;
  for (const char* name : {"interleaved-1f1b", "interleaved-1f1b-overlap", "interleaved-zb"}) {
    const Generator& generator = named(name);
    for (int p = 1; p <= 7; ++p)
      for (int v = 1; v <= 4; ++v)
        for (int n = 1; n <= 2 * p + 2; ++n)
          for (int m = 1; m <= 3 * n + 2; ++m) {
            const Params params{.ranks = p, .microbatches = m, .chunks = v, .options = {.group_size = n}};
            const bool stuck = find_hang(emitted(generator, params)).has_value();
            INFO(name << " p = " << p << ", v = " << v << ", N = " << n << ", m = " << m);
            CHECK(generator.accepts(params) == !stuck);
            hangs += stuck;
          }
  }
  CHECK(hangs > 1000);
}

TEST_CASE("nearest legal values on both sides, from the near end of the interval") {
  const auto even = [](int value) { return value % 2 == 0; };
  CHECK(nearest(5, {1, 100}, even) == std::vector<int>{4, 6});
  CHECK(nearest(1, {1, 100}, even) == std::vector<int>{2});
  CHECK(nearest(-7, {3, 100}, even) == std::vector<int>{4});
  CHECK(nearest(200, {1, 99}, even) == std::vector<int>{98});
  CHECK(nearest(5, {1, 100}, [](int) { return false; }).empty());
  CHECK(try_text({}).empty());
  CHECK(try_text({4}) == "; try 4");
  CHECK(try_text({4, 6, 8}) == "; try 4, 6 or 8");
}

TEST_CASE("max_ops counts F, B or I and W, and saturates") {
  CHECK(max_ops(named("1f1b"), {.ranks = 64, .microbatches = 512}) == 65'536);
  CHECK(max_ops(named("zb-h1"), {.ranks = 4, .microbatches = 8}) == 96);
  CHECK(max_ops(named("interleave"), {.ranks = kMaxIndex, .microbatches = kMaxIndex, .chunks = 1 << 30}) ==
        std::numeric_limits<std::int64_t>::max());
}

}  // namespace pipeloom::schedules::refusal_test
