// The JSON Schema of a configuration, made from the table of keys.

#include <fmt/format.h>

#include <algorithm>

#include "sim/io/config/key.hpp"
#include "sim/io/json/json_text.hpp"

namespace pipeloom::io {
namespace {

std::string description_of(const Key& key) {
  std::string text(key.help);
  if (!key.unit.empty()) text += fmt::format("; in {}", key.unit);
  if (!key.default_text.empty()) text += fmt::format("; default {}", key.default_text);
  return text;
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
        {"type": "object", "properties": {"saving": {"$ref": "#/$defs/time"}}, "required": ["saving"], "additionalProperties": false},
        {"type": "object", "properties": {"pairs": {"$ref": "#/$defs/time_matrix"}}, "required": ["pairs"], "additionalProperties": false}
      ]
    },
    "time_matrix": {"type": "array", "minItems": 1, "items": {"type": "array", "items": {"$ref": "#/$defs/time"}}},
    "op_cost": {
      "type": "object",
      "properties": {
        "kind": {"enum": ["F", "B", "I", "W", "R", "O", "L"]},
        "stage": {"type": "integer", "minimum": 0},
        "rank": {"type": "integer", "minimum": 0},
        "microbatch": {"type": "integer", "minimum": 0},
        "slice": {"type": "integer", "minimum": 0},
        "time": {"$ref": "#/$defs/time"},
        "factor": {"type": "number", "minimum": 0},
        "overlapped": {"$ref": "#/$defs/time"}
      },
      "additionalProperties": false
    },
    "noise": {
      "type": "object",
      "properties": {
        "model": {"enum": ["constant", "normal", "lognormal", "empirical", "hiccup"]},
        "sigma": {"type": "number", "minimum": 0},
        "factors": {"type": "array", "minItems": 1, "items": {"type": "number", "minimum": 0}},
        "file": {"type": "string", "minLength": 1},
        "period": {"$ref": "#/$defs/time"},
        "time": {"$ref": "#/$defs/time"},
        "ranks": {"type": "array", "items": {"type": "integer", "minimum": 0}}
      },
      "required": ["model"],
      "additionalProperties": false
    },
    "rate": {
      "anyOf": [
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "string", "pattern": "^[0-9.]+ ?[kKmMgGtTpP]?([bB]it|B)/s$"}
      ]
    },
    "links": {
      "anyOf": [
        {
          "type": "array",
          "items": {
            "type": "object",
            "properties": {
              "from": {"type": "integer", "minimum": 0},
              "to": {"type": "integer", "minimum": 0},
              "latency": {"$ref": "#/$defs/time"},
              "bandwidth_gbps": {"$ref": "#/$defs/rate"},
              "bytes": {"$ref": "#/$defs/size"},
              "oneway": {"type": "boolean"}
            },
            "required": ["from", "to"],
            "additionalProperties": false
          }
        },
        {
          "type": "object",
          "properties": {
            "latency": {
              "type": "array",
              "minItems": 1,
              "items": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/time"}, {"type": "null"}]}}
            },
            "bandwidth_gbps": {
              "description": "null or 0 on the diagonal",
              "type": "array",
              "minItems": 1,
              "items": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/rate"}, {"enum": [null, 0]}]}}
            }
          },
          "additionalProperties": false
        }
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

/// A schema that requires the key, or, in its group, the one that may be given instead.
std::string either_of(const Key& key) {
  const auto dot = key.instead.find('.');
  const std::string group = json_string(key.instead.substr(0, dot));
  return fmt::format(
      "  \"anyOf\": [{{\"required\": [{}]}}, {{\"required\": [{}], \"properties\": {{{}: {{\"required\": "
      "[{}]}}}}}}],\n",
      json_string(key.path), group, group, json_string(key.instead.substr(dot + 1)));
}

}  // namespace

std::string schema_properties(std::string_view parent, const std::string& indent) {
  std::string out;
  for (const auto& name : child_keys(parent)) {
    const std::string path = parent.empty() ? name : fmt::format("{}.{}", parent, name);
    const Key& key = *find_config_key(path);
    if (path == "costs") {  // an object, or the name of a file that holds one
      out += fmt::format(
          "{}{}\"costs\": {{\"description\": {}, \"anyOf\": [{{\"type\": \"string\"}}, {{\"type\": "
          "\"object\", "
          "\"additionalProperties\": false, \"properties\": {{\n{},\n{}  \"measured\": {{\"type\": "
          "\"object\", "
          "\"description\": \"written by pipeloom run --costs-out, ignored when read\"}}\n{}}}}}]}}",
          out.empty() ? "" : ",\n", indent, json_string(description_of(key)),
          schema_properties(path, indent + "  "), indent, indent);
      continue;
    }
    out += fmt::format("{}{}{}: {{{}, \"description\": {}", out.empty() ? "" : ",\n", indent,
                       json_string(name), key.form->schema(key), json_string(description_of(key)));
    if (key.type == KeyType::Object)
      out += fmt::format(", \"additionalProperties\": false, \"properties\": {{\n{}\n{}}}",
                         schema_properties(path, indent + "  "), indent);
    out += "}";
  }
  return out;
}

std::string config_schema() {
  std::string out =
      "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n  \"title\": \"Pipeloom "
      "configuration\",\n"
      "  \"description\": \"One run. Comments (// and /* */) are allowed in the file; strip them before "
      "validating.\",\n"
      "  \"type\": \"object\",\n  \"properties\": {\n";
  out += schema_properties("", "    ");
  out +=
      ",\n    \"origin\": {\"type\": \"object\", \"description\": \"written by reports, ignored when "
      "read\"}\n  },\n";
  std::string required;
  std::string either;
  for (const Key& key : config_keys()) {
    if (key.required.empty()) continue;
    if (key.instead.empty())
      required += (required.empty() ? "" : ", ") + json_string(key.path);
    else
      either += either_of(key);
  }
  out += either;
  out +=
      fmt::format("  \"required\": [{}],\n  \"additionalProperties\": false,\n  \"$defs\": {{\n", required);
  out += kDefinitions;
  return out + "  }\n}\n";
}

}  // namespace pipeloom::io
