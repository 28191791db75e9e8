#include "cli/option_list.hpp"

#include "sim/base/text_tools.hpp"

namespace pipeloom::cli {

Argument& Argument::required() {
  is_required = true;
  return *this;
}

Argument& Argument::repeatable() {
  is_repeatable = true;
  return *this;
}

Argument& Argument::separated_by(char sign) {
  separator = sign;
  return *this;
}

Argument& Argument::at_least(int number) {
  least = number;
  return *this;
}

Argument& Argument::under(std::string text) {
  heading = std::move(text);
  return *this;
}

Argument& Argument::excludes(std::string name) {
  excluded.push_back(std::move(name));
  return *this;
}

bool Argument::takes_value() const {
  return !std::holds_alternative<Call>(target) && !std::holds_alternative<bool*>(target);
}

Argument& OptionList::flag(std::string_view names, bool& value, std::string_view help) {
  return add(names, &value, "", help);
}

void OptionList::help_flag() {
  add("-h", Call::Brief, "", "Print a short help");
  add("--help", Call::Help, "", "Print all of it, with examples");
}

void OptionList::version_flag(std::string_view names) {
  add(names, Call::Version, "", "Print the version");
}

Argument& OptionList::add(std::string_view names, Target target, std::string_view type,
                          std::string_view help) {
  Argument& added = options_.emplace_back();
  added.names = split(names, ',');
  added.target = target;
  added.type = type;
  added.help = help;
  return added;
}

}  // namespace pipeloom::cli
