#include "sim/layout/stage_content.hpp"

#include <pipeloom/error.hpp>
#include "support/catch.hpp"

namespace pipeloom::layout::stage_content_test {
namespace {
using Modules = std::vector<std::vector<std::string>>;
}

TEST_CASE("modules: torchtitan, areal, critic") {
  const auto contents = contents_of(std::vector<int>{1, 2, 0});
  CHECK(modules_of(contents, module_names(Framework::Torchtitan, false)) ==
        Modules{{"tok_embeddings", "layers.0"}, {"layers.1", "layers.2"}, {"norm", "lm_head"}});
  CHECK(modules_of(contents, module_names(Framework::Areal, false)).back() ==
        std::vector<std::string>{"norm", "output"});
  CHECK(modules_of(contents, module_names(Framework::Areal, true), true) ==
        Modules{{"tok_embeddings", "layers.0"}, {"layers.1-2"}, {"norm", "score"}});
  CHECK_THROWS_WITH(module_names(Framework::Megatron, true),
                    "a critic is given, but megatron has no critic head; only areal has one, named score");
}

TEST_CASE("modules: Megatron-LM puts the norm behind the last decoder layer when there are MTP layers") {
  const ModuleNames names = module_names(Framework::Megatron, false);
  CHECK(modules_of(contents_of(std::vector<int>{1, 1, 0}), names) ==
        Modules{{"embedding", "decoder.layers.0"},
                {"decoder.layers.1"},
                {"decoder.final_layernorm", "output_layer"}});
  CHECK(modules_of(contents_of(std::vector<int>{1, 1, 0}, 1), names) ==
        Modules{{"embedding", "decoder.layers.0"},
                {"decoder.layers.1", "decoder.final_layernorm"},
                {"mtp.layers.0", "output_layer"}});
}

TEST_CASE("contents: first layers and framework names") {
  CHECK(first_layers(contents_of(std::vector<int>{3, 0, 2})) == std::vector<int>{0, 3, 3});
  CHECK(framework_named("areal") == Framework::Areal);
  CHECK(name_of(Framework::Megatron) == "megatron");
  CHECK_FALSE(framework_named("Areal").has_value());
  CHECK(StageContent{}.empty());
}

}  // namespace pipeloom::layout::stage_content_test
