// Hugging Face's config.json: decoders by the table of types, with the towers in front of them.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/models/decoder.hpp"
#include "sim/io/models/fields.hpp"
#include "sim/io/models/model_readers.hpp"
#include "sim/io/models/towers.hpp"
#include "sim/io/models/types.hpp"
#include "sim/model/check.hpp"
#include "sim/model/parameters.hpp"

namespace pipeloom::io {
namespace {

using model::Model;
using models::Fields;
using models::TypeRow;

constexpr std::int64_t kMostDefaultSequence = 8192;
constexpr std::int64_t kMostPatches = std::int64_t{1} << 40;  ///< weights that make states of patches

/// A hint is for typing errors: a name with other digits is another version.
bool has_same_digits(std::string_view a, std::string_view b) {
  const auto digits = [](std::string_view text) {
    std::string out;
    std::copy_if(text.begin(), text.end(), std::back_inserter(out),
                 [](char c) { return c >= '0' && c <= '9'; });
    return out;
  };
  return digits(a) == digits(b);
}

[[noreturn]] void refuse_type(const Where& where, const std::string& path, const std::string& type) {
  const std::string nearest = nearest_name(type, TypeRow::names());
  const bool hints = !nearest.empty() && has_same_digits(nearest, type);
  throw InputError(
      where,
      fmt::format("unknown {} '{}'; {}docs/models.md lists the types that are read; any other model is "
                  "read from a file of ours, which `python -m pipeloom.torch.model` writes",
                  path, shortened(type, 64),
                  hints ? fmt::format("did you mean '{}'? ", shortened(nearest, 80)) : ""));
}

/// Of the first class that `architectures` names.
std::string class_of(const Value& root) {
  const Value* list = root.find("architectures");
  if (list == nullptr || !list->is(ValueKind::Array) || list->items().empty()) return "";
  const Value& first = list->items().front();
  return first.is(ValueKind::String) ? first.text() : "";
}

TypeRow row_of(Fields& fields, const std::string& path, const std::string& usual) {
  std::string type = usual;
  fields.read("model_type", type);
  if (const auto row = TypeRow::named(type)) return *row;
  const std::string name = class_of(fields.object());
  if (const auto row = TypeRow::of_class(name)) return *row;
  const Value* at = fields.find("model_type");
  if (at == nullptr && !name.empty()) {
    refuse_type(fields.object().find("architectures")->where(), "class in architectures", name);
  }
  refuse_type(at == nullptr ? fields.object().where() : at->where(), path, type);
}

/// Whether the file names no tower: its class builds none then.
bool is_bare(const TypeRow& row, Fields& fields) {
  const Value* towers = row.find({"towers"});
  return towers != nullptr &&
         std::none_of(towers->items().begin(), towers->items().end(),
                      [&](const Value& key) { return fields.find(key.text()) != nullptr; });
}

/// True if version 4 of transformers saved the file (4.57.3 was recorded).
bool is_version_4(const Value& root) {
  const Value* version = root.find("transformers_version");
  return version != nullptr && version->is(ValueKind::String) && version->text().starts_with("4.");
}

/// Throws InputError for a switch that is on and adds other weights in version 4 than in version 5. `keys` are a row's, or an object from such keys to what they must be and why.
void refuse_changed(const Value& root, const TypeRow& row) {
  const Value* keys = row.find({"changed_since_4"});
  if (keys == nullptr || !is_version_4(root)) return;
  for (std::size_t i = 0; i < keys->items().size(); ++i) {
    const bool has_reasons = keys->is(ValueKind::Object);
    const std::string& key = has_reasons ? keys->keys()[i].name : keys->items()[i].text();
    if (!models::Sizes(root, "", row).truth(key)) continue;
    const Value* at = root.find(key);
    models::refuse(
        at == nullptr ? root : *at, key,
        has_reasons
            ? keys->items()[i].text()
            : "false: version 4 of transformers, which saved this file, gives more weights a bias by it");
  }
}

/// Throws InputError where `architectures` names another class of the type, which builds other weights.
void refuse_class(const Value& root, const TypeRow& row) {
  const Value* only = row.find({"only_classes"});
  const std::string name = class_of(root);
  if (only == nullptr || name.empty() || row.has_class(name)) return;
  models::refuse(
      root.find("architectures")->items().front(), "architectures",
      fmt::format("of the classes that are read as '{}': {}", shortened(row.name(), 80), row.classes()));
}

/// A decoder in `text_config`, with what is in front of it. Version 4 reads there whether embeddings are tied, version 5 beside it.
void read_wrapped(Fields& fields, const TypeRow& row, Model& out) {
  const Value* tower = row.find({"tower"});
  const Value* text_class = row.find({"text_class"});
  const Value* patches = row.find({"patches"});
  const bool is_text = patches != nullptr || is_bare(row, fields) ||
                       (text_class != nullptr && class_of(fields.object()) == text_class->text());
  if (tower == nullptr && !is_text)
    throw InputError(fields.object().where(),
                     fmt::format("the towers of '{}' are not read; its decoder is, from its text_config as a "
                                 "file of its own",
                                 shortened(row.name(), 80)));
  if (text_class != nullptr && class_of(fields.object()).empty())
    throw InputError(fields.object().where(),
                     fmt::format("'{}' is read with its tower or without; say by architectures which: "
                                 "[\"{}\"] is its decoder alone",
                                 shortened(row.name(), 80), shortened(text_class->text(), 80)));
  const Value* text = fields.find("text_config");
  if (text == nullptr && row.find({"flat"}) == nullptr)
    throw InputError(fields.object().where(),
                     "text_config is missing; give the decoder's sizes as an object");
  const std::string usual = row.find({"text"})->text();
  models::Sizes whole(fields.object(), "", row);
  if (text == nullptr) {
    models::read_decoder(fields.object(), "", *TypeRow::named(usual), row, out);
  } else {
    Fields inner(*text, fields.path_of("text_config"));
    models::read_decoder(*text, fields.path_of("text_config"), row_of(inner, "text_config.model_type", usual),
                         row, out);
    const Value* inside = row.find({"ties_inside"});
    const Value* tied = row.find({"tied"});
    const bool inner_counts = inside != nullptr && inside->text() == "1" && out.tied;
    const bool outer_counts = whole.truth(tied == nullptr ? "tie_word_embeddings" : tied->text());
    if (!is_version_4(fields.object())) out.tied = inner_counts || outer_counts;
  }
  if (!is_text) models::add_tower(whole, row, out);
  if (const Value* also = row.find({"also"}); also != nullptr && !is_text)
    models::add_tower(whole, TypeRow::encoder(also->text()), out);
  if (patches != nullptr) {
    out.tables += whole.size(patches->text(), kMostPatches);
    out.warnings.push_back(fmt::format("{}: {}", fields.object().where().file, row.find({"says"})->text()));
  }
  if ((!is_text || patches != nullptr) && text != nullptr) whole.finish(out.warnings);
}

}  // namespace

Model read_hugging_face(const Value& root) {
  Fields fields(root, "");
  const TypeRow row = row_of(fields, "model_type", "");
  Model out;
  out.where = root.where();
  out.name = row.name();
  out.type = row.name();
  fields.read("_name_or_path", out.name);
  if (out.name.empty()) out.name = row.name();
  out.source = "config.json of Hugging Face";
  refuse_class(root, row);
  if (row.find({"text"}) != nullptr)
    read_wrapped(fields, row, out);
  else
    models::read_decoder(root, "", row, row, out);
  refuse_changed(root, row);
  out.sequence = std::min(out.sequence, kMostDefaultSequence);
  model::check(out);
  if (out.mtp > 0)
    out.warnings.push_back(
        fmt::format("{}: training also has {} layers for multi-token prediction of {} parameters, which no "
                    "class builds: they "
                    "count for times and memory, not for the model's parameters",
                    root.where().file, out.mtp, model::mtp_parameters(out).all()));
  return out;
}

}  // namespace pipeloom::io
