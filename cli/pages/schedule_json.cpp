// schedule_page.hpp's JSON.

#include <fmt/format.h>

#include "cli/pages/schedule_example.hpp"
#include "cli/pages/schedule_page.hpp"
#include "sim/io/config/key.hpp"
#include "sim/io/json/json_writer.hpp"

namespace pipeloom::cli {
namespace {

using schedules::Generator;

void write_requirements(io::JsonWriter& out, const Requirements& r) {
  out.object().member("text", r.text).member("min_ranks", r.min_ranks).member("even_ranks", r.even_ranks);
  out.member("min_chunks", r.min_chunks).member("max_chunks", r.max_chunks);
  out.member("default_chunks", r.default_chunks).member("even_microbatches", r.even_microbatches);
  out.member("min_microbatches",
             fmt::format("{} * ranks + {}", r.min_microbatches_per_rank, r.min_microbatches_offset));
  out.member("splits_backward", r.splits_backward).member("overlaps", r.overlaps);
  out.member("bidirectional", r.bidirectional);
  for (const io::Key& key : io::config_keys()) {
    if (key.noun.empty() || *key.option == Option::Variant || *key.option == Option::File) continue;
    out.member(fmt::format("takes_{}", io::name_of(key)), r.takes.has(*key.option));
    if (*key.option == Option::Slices) out.member("default_slices", r.default_slices);
    if (*key.option == Option::Updates) out.member("default_updates", r.default_updates);
  }
  out.member("needs_terms", r.needs_terms).member("variants", r.variants).close();
}

void write_alias(io::JsonWriter& out, const schedules::Alias& alias) {
  out.object().member("name", alias.name).member("dialect", alias.dialect);
  out.member("has_defaults", static_cast<bool>(alias.defaults)).close();
}

/// One number where all ranks have the same, null where there is none.
void write_numbers(io::JsonWriter& out, const std::vector<std::string>& texts) {
  if (texts.empty()) {
    out.null();
  } else if (texts.size() == 1) {
    out.raw(texts.front());
  } else {
    out.array();
    for (const std::string& text : texts) out.raw(text);
    out.close();
  }
}

void write_form(io::JsonWriter& out, const schedules::ClosedForm& form, const ScheduleExample& example) {
  const FormValues here = values_of(form, example);
  out.object().member("quantity", form.quantity).member("formula", form.formula);
  out.member("condition", form.condition);
  write_numbers(out.key("value"), here.value);
  write_numbers(out.key("simulated"), here.simulated);
  out.close();
}

void write_example(io::JsonWriter& out, const ScheduleExample& example) {
  const Params& params = example.params;
  out.object().member("ranks", params.ranks).member("microbatches", params.microbatches);
  out.member("chunks", params.chunks).member("slices", params.slices()).member("updates", params.updates());
  out.key("makespan").ticks(example.metrics.makespan, TimeUnit::Unit);
  out.key("bubble_ratio").raw(fmt::format("{}", example.metrics.bubble_ratio));
  out.key("peak_microbatches").raw(fmt::format("{}", example.peak_microbatches())).close();
}

void write_schedule(io::JsonWriter& out, const Generator& generator, const ScheduleExample& example) {
  out.object().member("name", generator.name).line(3).member("summary", generator.summary);
  out.line(3).member("source", generator.source).line(3).member("when_to_use", generator.when_to_use);
  out.line(3).key("aliases").array();
  for (const schedules::Alias& alias : generator.aliases) write_alias(out, alias);
  out.close();
  write_requirements(out.line(3).key("requirements"), generator.requirements);
  write_example(out.line(3).key("example"), example);
  out.line(3).key("closed_forms").array();
  for (const schedules::ClosedForm& form : generator.closed_forms) write_form(out, form, example);
  out.close().close();
}

}  // namespace

std::string schedule_json(const Generator& generator) {
  const ScheduleExample example = make_example(generator, example_params(generator));
  return io::written_json(io::kReportStyle,
                          [&](io::JsonWriter& out) { write_schedule(out, generator, example); });
}

}  // namespace pipeloom::cli
