// Codecs of what is done to any schedule: recomputation and offloading.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "sim/base/text_tools.hpp"
#include "sim/io/config/codecs.hpp"
#include "sim/options.hpp"

namespace pipeloom::io::codec {

namespace {

/// Whether every word between commas is a module.
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
                 fmt::format("\"none\", \"full\", \"selective\", modules ({}), or {{\"keep\": passes}}",
                             fmt::join(kRecomputeModules, ",")));
}

void RecomputeModules::read(std::string& member, const Value& value, const ReadContext& context) {
  member = text_of(value, context);
  if (!names_modules(member))
    refuse_value(value, context.key.path,
                 fmt::format("modules separated by commas: {}", fmt::join(kRecomputeModules, ",")));
}

void Offload::read(OffloadOption& member, const Value& value, const ReadContext& context) {
  member = {};
  member.on = value.is(ValueKind::Object) || (value.is(ValueKind::String) && value.text() == "all");
  if (!member.on && !(value.is(ValueKind::String) && value.text() == "none"))
    refuse_value(value, context.key.path,
                 "\"none\", \"all\", or {\"chunks\": c, \"prefetch\": n, \"min_gap\": n}");
}

}  // namespace pipeloom::io::codec
