// The forms of the values of each codec: for `--keys`, axes, --set and the JSON Schema.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/config/codecs.hpp"
#include "sim/io/json/json_text.hpp"
#include "sim/options.hpp"

namespace pipeloom::io::codec {
namespace {

using K = ValueKind;

bool is_index(std::string_view text) {
  return !text.empty() && text.size() <= 7 && (text.size() == 1 || text[0] != '0') &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_stage_place(std::string_view rest) {
  return is_index(rest) || rest == "default" || (rest.starts_with("stages.") && is_index(rest.substr(7)));
}
bool is_overlap_place(std::string_view rest) {
  return rest == "factor" || rest == "saving" || is_stage_place(rest);
}
bool is_scale_place(std::string_view rest) {
  if (rest == "default") return true;
  for (const std::string_view members : {"ranks.", "stages.", "microbatches."})
    if (rest.starts_with(members) && is_index(rest.substr(members.size()))) return true;
  return is_index(rest);
}

/// "3.NAME": a number of a row.
bool is_row_place(std::string_view rest, std::initializer_list<std::string_view> names) {
  const auto dot = std::min(rest.find('.'), rest.size());
  return is_index(rest.substr(0, dot)) && dot < rest.size() &&
         std::find(names.begin(), names.end(), rest.substr(dot + 1)) != names.end();
}
bool is_cost_place(std::string_view rest) {
  return is_row_place(rest, {"time", "factor"});
}
bool is_table_place(std::string_view rest) {
  return is_row_place(rest, {"time"});
}
bool is_link_place(std::string_view rest) {
  for (const std::string_view matrix : {"latency.", "bandwidth_gbps."})
    if (rest.starts_with(matrix)) {
      rest.remove_prefix(matrix.size());
      const auto dot = std::min(rest.find('.'), rest.size());
      return is_index(rest.substr(0, dot)) && dot < rest.size() && is_index(rest.substr(dot + 1));
    }
  return is_row_place(rest, {"latency", "bandwidth_gbps", "bytes"});
}
bool is_noise_place(std::string_view rest) {
  return rest == "sigma" || rest == "period" || rest == "time";
}

bool is_time(std::string_view text) {
  return parse_time_literal(text).has_value();
}
bool is_overlap_word(std::string_view text) {
  return text == "sum" || text == "sequential" || is_time(text);
}
bool is_size(std::string_view text) {
  return parse_bytes_literal(text).has_value();
}
bool is_rate(std::string_view text) {
  return parse_rate_literal(text).has_value();
}
bool is_link_word(std::string_view text) {
  return is_time(text) || is_size(text) || is_rate(text);
}

template <std::size_t N>
struct Literal {
  constexpr Literal(const char (&text)[N]) { std::copy_n(text, N, data); }  // NOLINT: implicit on purpose
  char data[N];
};
/// A schema that no row changes.
template <Literal text>
std::string fixed(const Key&) {
  return text.data;
}

std::string choice_schema(const Key& key) {
  std::string out;
  for (const std::string& choice : choices_of(key)) out += (out.empty() ? "" : ", ") + json_string(choice);
  return fmt::format("\"enum\": [{}]", out);
}

std::string count_schema(const Key& key) {
  return fmt::format("\"type\": \"integer\", \"minimum\": {}, \"maximum\": {}", key.minimum, key.maximum);
}

std::string slices_schema(const Key& key) {
  return fmt::format(
      R"("anyOf": [{{"type": "integer", "minimum": {0}, "maximum": {1}}}, )"
      R"({{"type": "array", "minItems": 1, "maxItems": {1}, "items": {{"type": "integer", "minimum": 1}}}}])",
      key.minimum, key.maximum);
}

std::string group_size_schema(const Key& key) {
  const std::string one =
      fmt::format(R"("type": "integer", "minimum": {}, "maximum": {})", key.minimum, key.maximum);
  return fmt::format(R"("anyOf": [{{{0}}}, {{"type": "array", "minItems": 1, "items": {{{0}}}}}])", one);
}

std::string counts_schema(const Key& key) {
  return fmt::format(
      R"("type": "array", "minItems": 1, "items": {{"type": "integer", "minimum": {}, "maximum": {}}})",
      key.minimum, key.maximum);
}

std::string stages_schema(const Key& key) {
  return counts_schema(key) + R"(, "uniqueItems": true)";
}

/// A word for all and one for nothing, or an object.
template <Literal all>
std::string word_or_object(const Key& key) {
  return fmt::format(R"("anyOf": [{{"enum": ["none", "{}"]}}, {{"type": "object", )"
                     R"("additionalProperties": false, "properties": {{{}}}}}])",
                     all.data, schema_properties(key.path, ""));
}

/// Modules of a layer between commas, without braces.
std::string module_words(const Key&) {
  const std::string any = fmt::format("({})", fmt::join(kRecomputeModules, "|"));
  return fmt::format(R"("type": "string", "pattern": "^{0}(,{0})*$")", any);
}
std::string trainable_words(const Key&) {
  const std::string any = fmt::format("({})", fmt::join(kTrainableParts, "|"));
  return fmt::format(R"("type": "string", "pattern": "^(all|none|{0}(,{0})*)$")", any);
}
std::string recomputation(const Key& key) {
  return fmt::format(R"("anyOf": [{{"enum": ["none", "full", "selective"]}}, {{{}}}, {{"type": "object", )"
                     R"("additionalProperties": false, "properties": {{{}}}}}])",
                     module_words(key), schema_properties(key.path, ""));
}

}  // namespace

const Form kGroupForm = {.help = "an object",
                         .kinds = value_kinds({K::Object}),
                         .kinds_text = "an object",
                         .schema = fixed<"\"type\": \"object\"">};
const Form Text::kForm = {.help = "a string",
                          .kinds = value_kinds({K::String}),
                          .kinds_text = "a string",
                          .schema = fixed<"\"type\": \"string\", \"minLength\": 1">};
const Form Choice::kForm = {.help = "one of",
                            .kinds = value_kinds({K::String}),
                            .kinds_text = "a string",
                            .is_listed = true,
                            .schema = choice_schema};
const Form Flag::kForm = {.help = "true or false",
                          .kinds = value_kinds({K::Bool}),
                          .kinds_text = "true or false",
                          .schema = fixed<"\"type\": \"boolean\"">};
const Form Count::kForm = {.help = "a whole number",
                           .kinds = value_kinds({K::Number}),
                           .kinds_text = "a number",
                           .is_number = true,
                           .is_whole = true,
                           .schema = count_schema};
const Form Decimal::kForm = {
    .help = "a number, or a text such as \"400Gbit/s\"",
    .kinds = value_kinds({K::Number, K::String, K::Null}),
    .kinds_text = "a number, a quantity with its unit, or null",
    .is_word = is_rate,
    .is_number = true,
    .schema = fixed<R"("anyOf": [{"type": ["number", "null"], "exclusiveMinimum": 0}, )"
                    R"({"type": "string", "pattern": )"
                    R"("^[0-9.]+ ?[kKmMgGtTpP]?([bB]it|B)/s$"}])">};
const Form Share::kForm = {.help = "a number from 0 to 1",
                           .kinds = value_kinds({K::Number}),
                           .kinds_text = "a number",
                           .is_number = true,
                           .schema = fixed<R"("type": "number", "minimum": 0, "maximum": 1)">};
const Form Time::kForm = {.help = "a time: a number, or a text such as \"23.6ms\"",
                          .kinds = value_kinds({K::Number, K::String}),
                          .kinds_text = "a time",
                          .is_word = is_time,
                          .is_number = true,
                          .schema = fixed<"\"$ref\": \"#/$defs/time\"">};
const Form StageTimes::kForm = {
    .help =
        "a time (a number, or a text such as \"23.6ms\"), an array of one per stage, or {\"default\": "
        "t, \"stages\": {\"3\": t}}",
    .kinds = value_kinds({K::Number, K::String, K::Array, K::Object}),
    .kinds_text = "a number, an array of one per stage, or {\"default\": 2, \"stages\": {\"3\": 2.5}}",
    .is_word = is_time,
    .is_place = is_stage_place,
    .is_number = true,
    .schema = fixed<"\"$ref\": \"#/$defs/times\"">};
const Form Overlapped::kForm = {
    .help =
        "a time or table, {\"pairs\": [[t]]}, {\"factor\": x}, {\"saving\": t}, \"sequential\" or \"sum\"",
    .kinds = value_kinds({K::Number, K::Array, K::Object, K::String}),
    .kinds_text =
        "a time or table, {\"pairs\": [[t]]}, {\"factor\": x}, {\"saving\": t}, \"sequential\" or \"sum\"",
    .is_word = is_overlap_word,
    .is_place = is_overlap_place,
    .is_number = true,
    .is_listed = true,
    .schema = fixed<"\"$ref\": \"#/$defs/overlapped\"">};
const Form Bytes::kForm = {.help = "a whole number of bytes, or a text such as \"80GB\" or \"75GiB\"",
                           .kinds = value_kinds({K::Number, K::String}),
                           .kinds_text = "a size",
                           .is_word = is_size,
                           .is_number = true,
                           .schema = fixed<"\"$ref\": \"#/$defs/size\"">};
const Form StageBytes::kForm = {
    .help =
        "bytes (a whole number, or a text such as \"80GB\"), an array of one per stage, or "
        "{\"default\": n, \"stages\": {\"3\": n}}",
    .kinds = value_kinds({K::Number, K::String, K::Array, K::Object}),
    .kinds_text = "a number, an array of one per stage, or {\"default\": 2, \"stages\": {\"3\": 2.5}}",
    .is_word = is_size,
    .is_place = is_stage_place,
    .is_number = true,
    .schema = fixed<"\"$ref\": \"#/$defs/bytes\"">};
const Form Limit::kForm = {
    .help = "bytes (a whole number, or a text such as \"80GB\"), an array of one per rank, or null",
    .kinds = value_kinds({K::Number, K::String, K::Array, K::Null}),
    .kinds_text = "a number, a size, an array of one per rank, or null",
    .is_word = is_size,
    .is_place = is_index,
    .is_number = true,
    .schema = fixed<R"("anyOf": [{"type": "null"}, {"$ref": "#/$defs/size"}, )"
                    R"({"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/size"}}])">};
const Form Scales::kForm = {
    .help =
        "an array of factors, or a table: {\"default\": 1, \"ranks\": {\"2\": 1.1}} (\"stages\", "
        "\"microbatches\")",
    .kinds = value_kinds({K::Array, K::Object}),
    .kinds_text = "an array of factors, or a table of them",
    .is_place = is_scale_place,
    .schema = fixed<"\"$ref\": \"#/$defs/scales\"">};
const Form Slices::kForm = {.help = "a whole number, or an array of whole weights",
                            .kinds = value_kinds({K::Number, K::Array}),
                            .kinds_text = "a whole number, or an array of whole weights",
                            .is_place = is_index,
                            .is_number = true,
                            .is_whole = true,
                            .schema = slices_schema};
const Form GroupSize::kForm = {.help = "a whole number, or an array of one for each group",
                               .kinds = value_kinds({K::Number, K::Array}),
                               .kinds_text = "a whole number, or an array of one for each group",
                               .is_place = is_index,
                               .is_number = true,
                               .is_whole = true,
                               .schema = group_size_schema};
const Form Counts::kForm = {.help = "an array of whole numbers",
                            .kinds = value_kinds({K::Array}),
                            .kinds_text = "an array of whole numbers, one for each stage that was measured",
                            .is_place = is_index,
                            .schema = counts_schema};
const Form Documents::kForm = {
    .help = "an array of lengths, or an array of such arrays, one per microbatch",
    .kinds = value_kinds({K::Array}),
    .kinds_text = "lengths such as [4096, 2048, 2048], or an array of such arrays, one per microbatch",
    .schema =
        fixed<R"("type": "array", "minItems": 1, "items": {"anyOf": [{"type": "integer", "minimum": 1}, )"
              R"({"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 1}}]})">};
const Form Exceptions::kForm = {
    .help =
        "an array of {\"kind\", \"stage\", \"rank\", \"microbatch\", \"slice\": any of these, and "
        "\"time\", \"factor\" or \"overlapped\"}",
    .kinds = value_kinds({K::Array}),
    .kinds_text = "an array of objects such as {\"kind\": \"F\", \"stage\": 3, \"factor\": 1.6}",
    .is_word = is_time,
    .is_place = is_cost_place,
    .schema = fixed<R"("type": "array", "items": {"$ref": "#/$defs/op_cost"})">};
const Form Table::kForm = {
    .help =
        "a .csv, .jsonl or .json file, or an array, of rows {\"kind\", \"stage\", \"rank\", "
        "\"microbatch\", \"slice\": any of these, and \"time\"}",
    .kinds = value_kinds({K::Array, K::String}),
    .kinds_text =
        "the name of a file, or an array of objects such as {\"kind\": \"F\", \"stage\": 3, "
        "\"time\": 1.6}",
    .is_place = is_table_place,
    .schema = fixed<R"("anyOf": [{"type": "string", "minLength": 1}, )"
                    R"({"type": "array", "items": {"$ref": "#/$defs/op_cost"}}])">};
const Form Noise::kForm = {
    .help =
        "{\"model\": \"normal\" or \"lognormal\", \"sigma\": x}, {\"model\": \"empirical\", \"factors\": "
        "[x]} (or \"file\"), "
        "{\"model\": \"hiccup\", \"period\": t, \"time\": t, \"ranks\": [r]} or {\"model\": \"constant\"}",
    .kinds = value_kinds({K::Object}),
    .kinds_text = "an object such as {\"model\": \"lognormal\", \"sigma\": 0.03}",
    .is_word = is_time,
    .is_place = is_noise_place,
    .schema = fixed<"\"$ref\": \"#/$defs/noise\"">};
const Form Links::kForm = {
    .help =
        "an array of {\"from\": r, \"to\": r, \"latency\", \"bandwidth_gbps\", \"bytes\", "
        "\"oneway\"}, or matrices {\"latency\": [[t]], \"bandwidth_gbps\": [[x]]}",
    .kinds = value_kinds({K::Array, K::Object}),
    .kinds_text =
        "an array of links such as {\"from\": 6, \"to\": 7, \"latency\": 0.1}, or an object of "
        "matrices",
    .is_word = is_link_word,
    .is_place = is_link_place,
    .schema = fixed<"\"$ref\": \"#/$defs/links\"">};
const Form Recompute::kForm = {.help = R"("none", "full", "selective", modules, or an object)",
                               .kinds = value_kinds({K::String, K::Object}),
                               .kinds_text = "a word or an object",
                               .is_listed = true,
                               .schema = recomputation};
const Form RecomputeModules::kForm = {.help = "modules separated by commas",
                                      .kinds = value_kinds({K::String}),
                                      .kinds_text = "a string",
                                      .schema = module_words};
const Form TrainableParts::kForm = {.help = "all, none, or parts separated by commas",
                                    .kinds = value_kinds({K::String}),
                                    .kinds_text = "a string",
                                    .schema = trainable_words};
const Form Stages::kForm = {.help = "an array of stages",
                            .kinds = value_kinds({K::Array}),
                            .kinds_text = "an array of stages, whole numbers from 0, each once",
                            .is_place = is_index,
                            .schema = stages_schema};
const Form Offload::kForm = {.help = R"("none", "all", or an object)",
                             .kinds = value_kinds({K::String, K::Object}),
                             .kinds_text = "a word or an object",
                             .is_listed = true,
                             .schema = word_or_object<"all">};

}  // namespace pipeloom::io::codec
