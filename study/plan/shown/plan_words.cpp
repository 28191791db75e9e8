#include "study/plan/shown/plan_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "study/plan/search/squeeze.hpp"

namespace pipeloom::study {
namespace {

struct Meaning {
  std::string_view word;
  std::string_view means;
};
constexpr std::array<Meaning, 7> kMeanings = {{
    {kSearched, "an order of its own, found for these stages"},
    {kLeastMemory, "the same step within 0.1 %, held in as little as a search found"},
    {"gap", "how much longer than any order of these stages must take"},
    {kOptimal, "no better order exists for these stages"},
    {kFront, "no other row is both faster and smaller"},
    {kNow, "what runs now"},
    {kReference, "interleaved 1F1B at its best, which changes are against"},
}};

/// Names of one refusal that a line has room for.
constexpr std::size_t kNamesShown = 4;
/// What comes nearest is said of so many where nothing fits.
constexpr std::size_t kNearestShown = 3;
/// Reasons of a target that takes nothing: what it says of the model is seldom the most frequent.
constexpr std::size_t kReasonsShown = 5;

std::string_view words_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::OverLimit:
      return "over the limit";
    case Refusal::Target:
      return "not for the target";
    case Refusal::LeftOut:
      return "left out";
    case Refusal::CannotRun:
      return "cannot run here";
    case Refusal::NotTried:
      return "not tried";
  }
  return "";
}

std::vector<const PlanRejected*> refused(const Plan& plan, Refusal refusal) {
  std::vector<const PlanRejected*> out;
  for (const PlanRejected& one : plan.rejected)
    if (one.refusal == refusal) out.push_back(&one);
  return out;
}

std::string counted_line(const std::vector<const PlanRejected*>& all, Refusal refusal) {
  std::vector<std::string> names;
  for (const PlanRejected* one : all)
    if (names.size() < kNamesShown) names.push_back(one->name);
  const std::size_t more = all.size() - names.size();
  return fmt::format("  {} {}: {}{}", all.size(), words_of(refusal), fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string reason_line(const PlanRejected& one) {
  return fmt::format("  {}: {}", one.name, one.why);
}

/// Adds the target's reasons, those of most schedules first.
void add_target_lines(const Plan& plan, page::List& list) {
  std::map<std::string, std::size_t> counts;
  std::vector<const PlanRejected*> firsts;
  for (const PlanRejected* one : refused(plan, Refusal::Target))
    if (++counts[one->why] == 1) firsts.push_back(one);
  std::ranges::stable_sort(firsts, std::ranges::greater(),
                           [&](const PlanRejected* one) { return counts.at(one->why); });
  for (std::size_t i = 0; i < std::min(firsts.size(), kReasonsShown); ++i) {
    const std::size_t more = counts.at(firsts[i]->why) - 1;
    list.items.push_back(fmt::format("  {}{}: {}", firsts[i]->name,
                                     more > 0 ? fmt::format(" and {} more", more) : "", firsts[i]->why));
  }
}

/// Adds what holds least of what runs and does not fit; where nothing runs, why the target takes none of it.
void add_nearest_lines(const Plan& plan, page::List& list) {
  if (plan.over.empty()) return add_target_lines(plan, list);
  std::vector<const PlanCandidate*> over;
  for (const PlanCandidate& one : plan.over) over.push_back(&one);
  std::ranges::stable_sort(over, {}, &PlanCandidate::peak);
  for (std::size_t i = 0; i < std::min(over.size(), kNearestShown); ++i) {
    const auto found = std::ranges::find(plan.rejected, over[i]->name, &PlanRejected::name);
    if (found != plan.rejected.end()) list.items.push_back(reason_line(*found));
  }
}

}  // namespace

std::string legend(const std::vector<std::string>& words) {
  const auto said = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  const bool has_gaps =
      std::ranges::any_of(words, [](const std::string& word) { return word.ends_with(" %"); });
  std::string out;
  for (const Meaning& one : kMeanings) {
    if (!said(one.word) && !(one.word == "gap" && has_gaps)) continue;
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", one.word, one.means);
  }
  return out;
}

page::List refusals_list(const Plan& plan, bool everything) {
  page::List out;
  if (everything) {
    for (const PlanRejected& one : plan.rejected) out.items.push_back(reason_line(one));
    return out;
  }
  for (const Refusal refusal : kRefusals)
    if (const auto all = refused(plan, refusal); !all.empty())
      out.items.push_back(counted_line(all, refusal));
  if (plan.candidates.empty()) add_nearest_lines(plan, out);
  if (!out.items.empty()) out.items.emplace_back("  -v says why of each");
  return out;
}

}  // namespace pipeloom::study
