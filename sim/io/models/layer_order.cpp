#include "sim/io/models/layer_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/models/fields.hpp"

namespace pipeloom::io::models {
namespace {

/// What a rule says besides parts: keys, and expressions.
constexpr std::string_view kRuleKeys[] = {"by", "needs", "in", "not_in"};
constexpr std::string_view kRuleSizes[] = {"period", "offset", "from",      "to",
                                           "if",     "base",   "late_from", "more"};

template <class Names>
bool is_one_of(std::string_view name, const Names& names) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

class LayerOrder {
 public:
  LayerOrder(Sizes& sizes, const TypeRow& type, std::size_t count)
      : sizes_(sizes), type_(type), count_(count) {}

  std::vector<std::string> by(const Value& rules) {
    for (const Value& rule : rules.items()) ask(rule);
    for (const Value& rule : rules.items()) {
      if (rule.is(ValueKind::String)) return std::vector<std::string>(count_, rule.text());
      if (!holds(rule)) continue;
      std::vector<std::string> out = rule.find("by") != nullptr ? listed(rule) : counted(rule);
      replace(rule.find("first"), 0, 1, out);
      replace(rule.find("late"), static_cast<std::size_t>(size(rule, "late_from", 0)), count_, out);
      if (const Value* last = rule.find("last")) out.back() = last->text();
      return out;
    }
    throw InputError(sizes_.object().where(), "the order of layers is missing");
  }

 private:
  /// Puts other parts in place of those that `others` names, for layers from one to another.
  static void replace(const Value* others, std::size_t from, std::size_t to, std::vector<std::string>& out) {
    for (std::size_t i = from; others != nullptr && i < to; ++i)
      if (const Value* other = others->find(out[i])) out[i] = other->text();
  }

  /// Keys of rules that do not hold here count as read too.
  void ask(const Value& rule) {
    for (std::size_t i = 0; i < rule.keys().size(); ++i) {
      if (is_one_of(rule.keys()[i].name, kRuleKeys)) static_cast<void>(sizes_.find(rule.items()[i].text()));
      if (is_one_of(rule.keys()[i].name, kRuleSizes))
        static_cast<void>(sizes_.number(rule.items()[i].text()));
    }
  }

  bool holds(const Value& rule) {
    if (const Value* key = rule.find("by")) {
      const Value* list = sizes_.find(key->text());
      return list != nullptr && (!list->is(ValueKind::Array) || !list->items().empty());
    }
    const Value* needed = rule.find("needs");
    return needed == nullptr || sizes_.find(needed->text()) != nullptr;
  }

  /// An entry, or a letter of a text, for each layer.
  std::vector<std::string> listed(const Value& rule) {
    const std::string& key = rule.find("by")->text();
    const Value& list = *sizes_.find(key);
    const std::string path = sizes_.path_of(key);
    std::vector<std::string> entries;
    if (list.is(ValueKind::String))
      for (const char letter : list.text()) entries.emplace_back(1, letter);
    else if (list.is(ValueKind::Array))
      for (const Value& item : list.items()) entries.push_back(item.text());
    if (entries.size() > count_ && size(rule, "more", 0) != 0) entries.resize(count_);
    if (entries.size() != count_)
      refuse(list, path, fmt::format("an entry for each of the {} layers", count_));
    for (std::size_t i = 0; i < count_; ++i) {
      const Value* part = is_one_of(entries[i], kRuleKeys) ? nullptr : rule.find(entries[i]);
      if (part == nullptr)
        refuse(list.is(ValueKind::Array) ? list.items()[i] : list, path,
               fmt::format("of the kinds that '{}' has", shortened(type_.name(), 80)));
      entries[i] = part->text();
    }
    return entries;
  }

  std::int64_t size(const Value& rule, std::string_view name, std::int64_t usual) {
    const Value* at = rule.find(name);
    const auto value = at == nullptr ? std::nullopt : sizes_.number(at->text());
    return value ? static_cast<std::int64_t>(*value) : usual;
  }

  std::vector<std::string> counted(const Value& rule) {
    const std::int64_t period = size(rule, "period", 1);
    const std::int64_t offset = size(rule, "offset", 0);
    const std::int64_t from = size(rule, "from", 0);
    const std::int64_t to = size(rule, "to", kMostDecoderLayers);
    const Value* condition = rule.find("if");
    std::vector<bool> on(count_, condition == nullptr || sizes_.truth(condition->text()));
    for (std::size_t i = 0; i < count_; ++i) {
      const auto at = static_cast<std::int64_t>(i);
      if (period < 1 || at % period != offset || at < from || (to >= 0 && at > to)) on[i] = false;
    }
    keep(rule, "in", on, true);
    keep(rule, "not_in", on, false);
    std::vector<std::string> out;
    for (const bool is_on : on) out.push_back(rule.find(is_on ? "on" : "off")->text());
    return out;
  }

  /// Takes off the layers that a list of numbers lacks (or has).
  void keep(const Value& rule, std::string_view name, std::vector<bool>& on, bool wanted) {
    const Value* key = rule.find(name);
    const Value* list = key == nullptr ? nullptr : sizes_.find(key->text());
    if (list == nullptr) return;
    const std::string path = sizes_.path_of(key->text());
    if (!list->is(ValueKind::Array) && !list->is(ValueKind::Object))
      refuse(*list, path, "an array of layers");
    const std::int64_t base = size(rule, "base", 0);
    std::vector<bool> named(on.size(), false);
    for (std::size_t i = 0; i < list->items().size(); ++i) {
      const std::int64_t at = layer_number(*list, i, path) - base;
      if (at < 0 || static_cast<std::size_t>(at) >= on.size())
        refuse(
            list->items()[i], "an entry of " + path,
            fmt::format("of a layer from {} to {}", base, static_cast<std::int64_t>(on.size()) - 1 + base));
      named[static_cast<std::size_t>(at)] = true;
    }
    for (std::size_t i = 0; i < on.size(); ++i)
      if (named[i] != wanted) on[i] = false;
  }

  /// An array's entry, or an object's key.
  static std::int64_t layer_number(const Value& list, std::size_t i, const std::string& path) {
    if (list.is(ValueKind::Array)) return whole_number(list.items()[i], "an entry of " + path);
    const std::string& key = list.keys()[i].name;
    std::int64_t out = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), out);
    return error == std::errc() && end == key.data() + key.size() ? out : -1;
  }

  Sizes& sizes_;
  const TypeRow& type_;
  std::size_t count_;
};

}  // namespace

std::vector<std::string> parts_of_layers(Sizes& sizes, const TypeRow& type, std::string_view which,
                                         std::size_t count) {
  return LayerOrder(sizes, type, count).by(*type.find({which}));
}

std::vector<std::string> parts_named(const TypeRow& type, std::string_view which) {
  std::vector<std::string> out;
  for (const Value& rule : type.find({which})->items()) {
    if (rule.is(ValueKind::String)) out.push_back(rule.text());
    for (std::size_t i = 0; i < rule.keys().size(); ++i) {
      const Value& part = rule.items()[i];
      if (rule.keys()[i].name == "first" || rule.keys()[i].name == "late")
        for (const Value& other : part.items()) out.push_back(other.text());
      else if (!is_one_of(rule.keys()[i].name, kRuleKeys) && !is_one_of(rule.keys()[i].name, kRuleSizes))
        out.push_back(part.text());
    }
  }
  return out;
}

}  // namespace pipeloom::io::models
