// Pages of an explanation.

#include "study/explain/shown/explain_table.hpp"
#include "study/pages/run_page.hpp"

namespace pipeloom::study::page {

std::vector<Block> explanation_blocks(const explain::Explanation& explanation, std::string caption) {
  std::vector<Block> out;
  const Table causes = explain::causes_table(explanation);
  if (causes.empty()) {
    out.emplace_back(Paragraph{"no difference to explain"});
  } else {
    PageTable table = PageTable::of(causes, std::move(caption), "causes");
    table.sortable = false;
    out.emplace_back(std::move(table));
  }
  if (List below{explain::lines_below(explanation)}; !below.items.empty()) out.emplace_back(std::move(below));
  return out;
}

Page explain_answer(const explain::Explanation& explanation) {
  Page page;
  page.title = explain::headline_of(explanation);
  page.lead = explanation_blocks(explanation, "");
  List hidden;
  for (const explain::Cause& cause : explanation.hidden) hidden.items.push_back("  " + cause.text);
  if (!hidden.items.empty())
    page.sections.push_back({"hidden", "there, but without effect on the step:", {std::move(hidden)}});
  return page;
}

}  // namespace pipeloom::study::page
