// AReaL's keys of a trained model, as its YAML has them.

#include <fmt/format.h>

#include "sim/io/json/json_text.hpp"
#include "study/targets/blocks.hpp"

namespace pipeloom::study {
namespace {

/// "archon:d4p2t8c1e1": how the devices are dealt out, dimensions of one left out but d and p.
std::string backend(const Taken& taken) {
  const model::Split& split = taken.deployment.split;
  std::string out = fmt::format("archon:d{}p{}", split.data, taken.ranks());
  if (split.tensor > 1) out += fmt::format("t{}", split.tensor);
  if (split.context > 1) out += fmt::format("c{}", split.context);
  if (split.expert > 1) out += fmt::format("e{}", split.expert);
  return out;
}

/// A block of YAML: keys below `actor`, and after them those of its groups.
class YamlLines {
 public:
  YamlLines(ToRun& out, std::string group, int blanks)
      : out_(out), group_(std::move(group)), blanks_(blanks) {}

  void open(std::string_view word) { out_.text += fmt::format("{:{}}{}:\n", "", blanks_ - 2, word); }
  void set(std::string_view key, const std::string& json) {
    out_.text += fmt::format("{:{}}{}: {}\n", "", blanks_, key, json);
    out_.settings.push_back({group_ + std::string(key), json});
  }
  void set(std::string_view key, int value) { set(key, fmt::format("{}", value)); }

 private:
  ToRun& out_;
  std::string group_;
  int blanks_;
};

void set_engine(const Taken& taken, ToRun& out) {
  YamlLines archon(out, "actor.archon.", 4);
  archon.open("archon");
  archon.set("pp_schedule", io::json_string(taken.own->word));
  const WeightedWords& words = taken.layers.weighted;
  if (words.layers_per_stage) archon.set("pp_layers_per_stage", *words.layers_per_stage);
  archon.set("pp_first_stage_less_layers", words.first_less);
  archon.set("pp_last_stage_less_layers", words.last_less);
  if (taken.splits_backward()) archon.set("enable_compile", "false");
  if (taken.deployment.recomputes_all()) archon.set("ac_mode", io::json_string("full"));
}

}  // namespace

ToRun areal_block(const Taken& taken) {
  ToRun out;
  const bool rounds_up = taken.microbatches() % taken.ranks() != 0;
  YamlLines actor(out, "actor.", 2);
  actor.open("actor");
  actor.set("backend", io::json_string(backend(taken)));
  actor.set("gradient_checkpointing", taken.deployment.recomputes_all() ? "true" : "false");
  YamlLines batch(out, "actor.mb_spec.", 4);
  batch.open("mb_spec");
  batch.set("n_mbs", taken.microbatches());
  if (rounds_up) batch.set("packing_algorithm", io::json_string("kk"));
  set_engine(taken, out);
  out.text.pop_back();
  if (rounds_up)
    out.needs.push_back(fmt::format(
        "AReaL rounds {0} microbatches up to a multiple of {1} ranks, unless a batch of exactly {0} "
        "sequences a data rank is packed by kk",
        taken.microbatches(), taken.ranks()));
  out.needs.push_back(fmt::format("a batch has at least {} sequences a data rank, one for each stage",
                                  taken.deployment.order->stages()));
  if (taken.splits_backward()) out.needs.push_back(compile_need(taken));
  if (const std::string need = sharding_need(taken); !need.empty()) out.needs.push_back(need);
  if (const std::string need = tied_need(taken); !need.empty()) out.needs.push_back(need);
  if (const std::string need = family_need(taken); !need.empty()) out.needs.push_back(need);
  if (taken.deployment.layers.empty())
    out.needs.emplace_back("the number of layers is not known here: AReaL deals them out by its own rule");
  return out;
}

}  // namespace pipeloom::study
