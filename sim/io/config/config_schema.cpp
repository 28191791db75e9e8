// The JSON Schema of a configuration, made from the table of keys.

#include <fmt/format.h>

#include <algorithm>

#include "sim/io/config/config_keys.hpp"
#include "sim/io/json/json_text.hpp"

namespace pipeloom::io {
namespace {

std::string choices_of(std::string_view choices) {
  std::string out;
  for (;;) {
    const auto bar = choices.find('|');
    out += (out.empty() ? "" : ", ") + json_string(choices.substr(0, bar));
    if (bar == std::string_view::npos) return out;
    choices.remove_prefix(bar + 1);
  }
}

std::string properties_of(const std::string& parent, const std::string& indent);

/// The schema's keywords for a key's type, without braces. Forms used more than once stand under $defs.
std::string keywords(const ConfigKey& key) {
  switch (key.type) {
    case KeyType::Object:
      return "\"type\": \"object\"";
    case KeyType::Text:
      return "\"type\": \"string\", \"minLength\": 1";
    case KeyType::Choice:
      return fmt::format("\"enum\": [{}]", choices_of(key.choices));
    case KeyType::Flag:
      return "\"type\": \"boolean\"";
    case KeyType::Count:
      return fmt::format("\"type\": \"integer\", \"minimum\": {}, \"maximum\": {}", key.minimum, key.maximum);
    case KeyType::Decimal:
      return R"("anyOf": [{"type": ["number", "null"], "exclusiveMinimum": 0}, )"
             R"({"type": "string", "pattern": "^[0-9.]+ ?[kKmMgGtTpP]?([bB]it|B)/s$"}])";
    case KeyType::Time:
      return "\"$ref\": \"#/$defs/time\"";
    case KeyType::TimeTable:
      return "\"$ref\": \"#/$defs/times\"";
    case KeyType::Overlapped:
      return "\"$ref\": \"#/$defs/overlapped\"";
    case KeyType::Bytes:
      return "\"$ref\": \"#/$defs/size\"";
    case KeyType::BytesTable:
      return "\"$ref\": \"#/$defs/bytes\"";
    case KeyType::Limit:
      return R"("anyOf": [{"type": "null"}, {"$ref": "#/$defs/size"}, )"
             R"({"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/size"}}])";
    case KeyType::Scales:
      return "\"$ref\": \"#/$defs/scales\"";
    case KeyType::Slices:
      return fmt::format(
          R"("anyOf": [{{"type": "integer", "minimum": {0}, "maximum": {1}}}, )"
          R"({{"type": "array", "minItems": 1, "maxItems": {1}, "items": {{"type": "integer", "minimum": 1}}}}])",
          key.minimum, key.maximum);
    case KeyType::Recompute:
    case KeyType::Offload:
      return fmt::format(R"("anyOf": [{{"enum": ["none", "{}"]}}, {{"type": "object", )"
                         R"("additionalProperties": false, "properties": {{{}}}}}])",
                         key.type == KeyType::Offload ? "all" : "full",
                         properties_of(std::string(key.path), ""));
  }
  return "";
}

std::string description_of(const ConfigKey& key) {
  std::string text(key.help);
  if (!key.unit.empty()) text += fmt::format("; in {}", key.unit);
  if (!key.default_text.empty()) text += fmt::format("; default {}", key.default_text);
  return text;
}

std::string properties_of(const std::string& parent, const std::string& indent) {
  std::string out;
  for (const auto& name : child_keys(parent)) {
    const std::string path = parent.empty() ? name : parent + "." + name;
    const ConfigKey& key = *find_config_key(path);
    if (path == "costs") {  // an object, or the name of a file that holds one
      out += fmt::format(
          "{}{}\"costs\": {{\"description\": {}, \"anyOf\": [{{\"type\": \"string\"}}, {{\"type\": "
          "\"object\", "
          "\"additionalProperties\": false, \"properties\": {{\n{},\n{}  \"measured\": {{\"type\": "
          "\"object\", "
          "\"description\": \"written by pipeloom run --costs-out, ignored when read\"}}\n{}}}}}]}}",
          out.empty() ? "" : ",\n", indent, json_string(description_of(key)),
          properties_of(path, indent + "  "), indent, indent);
      continue;
    }
    out += fmt::format("{}{}{}: {{{}, \"description\": {}", out.empty() ? "" : ",\n", indent,
                       json_string(name), keywords(key), json_string(description_of(key)));
    if (key.type == KeyType::Object)
      out += fmt::format(", \"additionalProperties\": false, \"properties\": {{\n{}\n{}}}",
                         properties_of(path, indent + "  "), indent);
    out += "}";
  }
  return out;
}

constexpr std::string_view kDefinitions = R"(    "time": {
      "anyOf": [
        {"type": "number", "minimum": 0},
        {"type": "string", "pattern": "^[0-9.]+ ?(s|ms|us|ns)$"}
      ]
    },
    "size": {
      "anyOf": [
        {"type": "integer", "minimum": 0},
        {"type": "string", "pattern": "^[0-9.]+ ?([kKmMgGtTpP][iI]?)?[bB]$"}
      ]
    },
    "times": {
      "anyOf": [
        {"$ref": "#/$defs/time"},
        {"type": "array", "items": {"$ref": "#/$defs/time"}},
        {"$ref": "#/$defs/time_table"}
      ]
    },
    "time_table": {
      "type": "object",
      "properties": {
        "default": {"$ref": "#/$defs/time"},
        "stages": {"type": "object", "patternProperties": {"^(0|[1-9][0-9]*)$": {"$ref": "#/$defs/time"}}, "additionalProperties": false}
      },
      "patternProperties": {"^(0|[1-9][0-9]*)$": {"$ref": "#/$defs/time"}},
      "additionalProperties": false
    },
    "overlapped": {
      "anyOf": [
        {"$ref": "#/$defs/times"},
        {"enum": ["sum", "sequential"]},
        {"type": "object", "properties": {"factor": {"type": "number", "minimum": 0}}, "required": ["factor"], "additionalProperties": false},
        {"type": "object", "properties": {"saving": {"$ref": "#/$defs/time"}}, "required": ["saving"], "additionalProperties": false}
      ]
    },
    "scales": {
      "anyOf": [
        {"type": "array", "minItems": 1, "items": {"type": "number", "minimum": 0}},
        {
          "type": "object",
          "properties": {"default": {"type": "number", "minimum": 0}},
          "patternProperties": {
            "^(ranks|stages|microbatches)$": {"type": "object", "patternProperties": {"^(0|[1-9][0-9]*)$": {"type": "number", "minimum": 0}}, "additionalProperties": false},
            "^(0|[1-9][0-9]*)$": {"type": "number", "minimum": 0}
          },
          "additionalProperties": false
        }
      ]
    },
    "bytes": {
      "anyOf": [
        {"$ref": "#/$defs/size"},
        {"type": "array", "items": {"$ref": "#/$defs/size"}},
        {
          "type": "object",
          "properties": {
            "default": {"$ref": "#/$defs/size"},
            "stages": {"type": "object", "patternProperties": {"^(0|[1-9][0-9]*)$": {"$ref": "#/$defs/size"}}, "additionalProperties": false}
          },
          "patternProperties": {"^(0|[1-9][0-9]*)$": {"$ref": "#/$defs/size"}},
          "additionalProperties": false
        }
      ]
    }
)";

}  // namespace

std::string config_schema() {
  std::string out =
      "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n  \"title\": \"Pipeloom "
      "configuration\",\n"
      "  \"description\": \"One run. Comments (// and /* */) are allowed in the file; strip them before "
      "validating.\",\n"
      "  \"type\": \"object\",\n  \"properties\": {\n";
  out += properties_of("", "    ");
  out +=
      ",\n    \"origin\": {\"type\": \"object\", \"description\": \"written by reports, ignored when "
      "read\"}\n  },\n";
  out +=
      "  \"required\": [\"schedule\", \"ranks\", \"microbatches\"],\n  \"additionalProperties\": false,\n  "
      "\"$defs\": {\n";
  out += kDefinitions;
  return out + "  }\n}\n";
}

}  // namespace pipeloom::io
