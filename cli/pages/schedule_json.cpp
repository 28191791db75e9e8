// schedule_page.hpp's JSON.

#include <fmt/format.h>

#include "cli/pages/schedule_example.hpp"
#include "cli/pages/schedule_page.hpp"
#include "sim/io/config/key.hpp"
#include "sim/io/json/json_text.hpp"

namespace pipeloom::cli {
namespace {

using schedules::Generator;
using schedules::Requirements;

void append_member(std::string& out, std::string_view key, std::string_view text) {
  out += fmt::format("\"{}\": ", key);
  io::append_json_string(out, text);
}

/// [a, b, c] of things that `text` writes.
template <class Items, class Text>
std::string array(const Items& items, const Text& text) {
  std::string out = "[";
  for (const auto& item : items) out += (&item == items.data() ? "" : ", ") + text(item);
  return out + "]";
}

std::string requirements_json(const Requirements& r) {
  std::string out = "{";
  append_member(out, "text", r.text);
  out += fmt::format(
      ", \"min_ranks\": {}, \"even_ranks\": {}, \"min_chunks\": {}, \"max_chunks\": {}, \"default_chunks\": "
      "{}, "
      "\"even_microbatches\": {}, \"min_microbatches\": \"{} * ranks + {}\", \"splits_backward\": {}, "
      "\"overlaps\": {}, \"bidirectional\": {}",
      r.min_ranks, r.even_ranks, r.min_chunks, r.max_chunks, r.default_chunks, r.even_microbatches,
      r.min_microbatches_per_rank, r.min_microbatches_offset, r.splits_backward, r.overlaps, r.bidirectional);
  for (const io::Key& key : io::config_keys()) {
    if (key.noun.empty() || *key.option == Option::Variant || *key.option == Option::File) continue;
    out += fmt::format(", \"takes_{}\": {}", io::name_of(key), r.takes.has(*key.option));
    if (*key.option == Option::Slices) out += fmt::format(", \"default_slices\": {}", r.default_slices);
    if (*key.option == Option::Updates) out += fmt::format(", \"default_updates\": {}", r.default_updates);
  }
  return out + fmt::format(", \"needs_terms\": {}", r.needs_terms) +
         ", \"variants\": " + array(r.variants, io::json_string) + "}";
}

std::string alias_json(const schedules::Alias& alias) {
  std::string out = "{";
  append_member(out, "name", alias.name);
  append_member(out += ", ", "dialect", alias.dialect);
  return out + fmt::format(", \"has_defaults\": {}}}", static_cast<bool>(alias.defaults));
}

/// Texts of numbers as JSON: one number where all ranks have the same, null where there is none.
std::string numbers_json(const std::vector<std::string>& texts) {
  if (texts.empty()) return "null";
  return texts.size() == 1 ? texts.front() : fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string closed_form_json(const schedules::ClosedForm& form, const ScheduleExample& example) {
  const FormValues here = values_of(form, example);
  std::string out = "{";
  append_member(out, "quantity", form.quantity);
  append_member(out += ", ", "formula", form.formula);
  append_member(out += ", ", "condition", form.condition);
  return out + fmt::format(", \"value\": {}, \"simulated\": {}}}", numbers_json(here.value),
                           numbers_json(here.simulated));
}

std::string example_json(const ScheduleExample& example) {
  const schedules::Params& params = example.params;
  return fmt::format(
      "{{\"ranks\": {}, \"microbatches\": {}, \"chunks\": {}, \"slices\": {}, \"updates\": {}, \"makespan\": "
      "{}, "
      "\"bubble_ratio\": {}, \"peak_microbatches\": {}}}",
      params.ranks, params.microbatches, params.chunks, params.slices(), params.updates(),
      format_ticks(example.metrics.makespan, TimeUnit::Unit), example.metrics.bubble_ratio,
      example.peak_microbatches());
}

}  // namespace

std::string schedule_json(const Generator& generator) {
  const ScheduleExample example = make_example(generator, example_params(generator));
  std::string out = "{";
  append_member(out, "name", generator.name);
  append_member(out += ",\n   ", "summary", generator.summary);
  append_member(out += ",\n   ", "source", generator.source);
  append_member(out += ",\n   ", "when_to_use", generator.when_to_use);
  out += ",\n   \"aliases\": " + array(generator.aliases, alias_json);
  out += ",\n   \"requirements\": " + requirements_json(generator.requirements);
  out += ",\n   \"example\": " + example_json(example);
  const auto form = [&](const schedules::ClosedForm& one) { return closed_form_json(one, example); };
  return out + ",\n   \"closed_forms\": " + array(generator.closed_forms, form) + "}";
}

}  // namespace pipeloom::cli
