// Codecs of the changes to any schedule, recomputation and offloading, and of what is trained.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "sim/base/text_tools.hpp"
#include "sim/io/config/codecs.hpp"
#include "sim/options.hpp"

namespace pipeloom::io::codec {

namespace {

/// True if every word between commas is a module.
bool names_modules(std::string_view text) {
  const std::vector<std::string> words = split(text, ',');
  return std::all_of(words.begin(), words.end(), [](const std::string& word) {
    return std::find(std::begin(kRecomputeModules), std::end(kRecomputeModules), word) !=
           std::end(kRecomputeModules);
  });
}

}  // namespace

void Recompute::read(RecomputeOption& member, const Value& value, const ReadContext& context) {
  member = {};
  if (value.is(ValueKind::Object)) {
    member.on = value.find("keep") != nullptr || value.find("modules") == nullptr;
    return;
  }
  const std::string text = value.is(ValueKind::String) ? value.text() : "";
  member.on = text == "full";
  if (text == "selective")
    member.modules = kSelectiveModules;
  else if (!text.empty() && names_modules(text))
    member.modules = text;
  else if (!member.on && text != "none")
    refuse_value(value, context.key.path,
                 fmt::format("\"none\", \"full\", \"selective\", modules ({}), or {{\"keep\": passes, "
                             "\"stages\": [s]}}",
                             fmt::join(kRecomputeModules, ",")));
}

void RecomputeModules::read(std::string& member, const Value& value, const ReadContext& context) {
  member = text_of(value, context);
  if (!names_modules(member))
    refuse_value(value, context.key.path,
                 fmt::format("modules separated by commas: {}", fmt::join(kRecomputeModules, ",")));
}

void TrainableParts::read(std::string& member, const Value& value, const ReadContext& context) {
  member = text_of(value, context);
  const std::vector<std::string> words = split(member, ',');
  const bool parts = std::ranges::all_of(words, [](const std::string& word) {
    return std::ranges::find(kTrainableParts, word) != std::end(kTrainableParts);
  });
  if (member != "all" && member != "none" && !parts)
    refuse_value(value, context.key.path,
                 fmt::format("all, none, or parts separated by commas: {}", fmt::join(kTrainableParts, ",")));
}

void Stages::read(Member& member, const Value& value, const ReadContext& context) {
  constexpr std::string_view kAllowed = "an array of stages, whole numbers from 0, each once";
  member.clear();
  for (const Value& item : value.items()) {
    const auto stage = parse_fixed(item.is(ValueKind::Number) ? item.text() : "", 1);
    if (!stage || stage->rounded || stage->value < 0 || stage->value >= kMaxIndex)
      refuse_value(item, context.key.path, kAllowed);
    member.push_back(static_cast<int>(stage->value));
  }
  std::ranges::sort(member);
  if (member.empty() || std::ranges::adjacent_find(member) != member.end())
    refuse_value(value, context.key.path, kAllowed);
}

void Stages::write(TextWriter& out, const Member& member, const Context&) {
  out << fmt::format("[{}]", fmt::join(member, ", "));
}

std::size_t Stages::hash(const Member& member) {
  std::size_t hash = member.size();
  for (const int stage : member) hash = hash * 31 + static_cast<std::size_t>(stage);
  return hash;
}

void Offload::read(OffloadOption& member, const Value& value, const ReadContext& context) {
  member = {};
  member.on = value.is(ValueKind::Object) || (value.is(ValueKind::String) && value.text() == "all");
  if (!member.on && !(value.is(ValueKind::String) && value.text() == "none"))
    refuse_value(value, context.key.path,
                 "\"none\", \"all\", or {\"chunks\": c, \"prefetch\": n, \"min_gap\": n, \"stages\": [s]}");
}

}  // namespace pipeloom::io::codec
