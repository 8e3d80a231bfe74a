"""Think-on-Graph: a beam of chains from the question's entities, widened and pruned hop by hop.

Source: Sun et al., "Think-on-Graph: Deep and Responsible Reasoning of Large Language Model on Knowledge Graph",
ICLR 2024 (arXiv 2307.07697), section 2 and algorithms 1 and 2.
"""
