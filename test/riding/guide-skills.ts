/** The two worked examples of the guide to skills that ride on tools, to the letter. */
export const FIND_PAPERS = `---
name: find_papers
description: "TRIGGER when the user asks to find / list / filter papers by
  author, year, or topic. SKIP for citation-graph traversal (that's a plain
  cypher_query MATCH on the CITES edge)."
references_tools: [cypher_query]
applies_when:
  graph_has_node_type: [Paper]
---

# Finding papers

Papers carry \`title\`, \`year\`, \`venue\`, and an \`author\` list...
`;

export const CODE_GRAPH = `---
name: code_graph_analysis
description: "TRIGGER for any structural question about a codebase — what
  calls / defines / extends / imports X... Map structure with the graph FIRST
  (graph_overview → cypher_query → explore), then drop to grep/read_source
  only to confirm a detail. Never grep to discover what the graph encodes."
references_tools: [cypher_query, graph_overview, explore, grep, read_source]
applies_when:
  graph_has_node_type: [Function, Class]
---

# Code-graph analysis: the sequencing strategy
...
`;
