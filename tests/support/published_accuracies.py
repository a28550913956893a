"""What upstream and a paper published of two models, subset by subset."""

LDL_REWARD_CORRECT = {
    "alpacaeval-easy": 99, "alpacaeval-hard": 90, "alpacaeval-length": 90,
    "mt-bench-easy": 28, "mt-bench-med": 39, "mt-bench-hard": 33,
    "llmbar-natural": 95, "llmbar-adver-neighbor": 121, "llmbar-adver-GPTInst": 89,
    "llmbar-adver-GPTOut": 41, "llmbar-adver-manual": 39,
    "refusals-dangerous": 96, "refusals-offensive": 99,
    "xstest-should-refuse": 147, "xstest-should-respond": 239, "donotanswer": 105,
    "hep-cpp": 161, "hep-go": 160, "hep-java": 163, "hep-js": 163, "hep-python": 160,
    "hep-rust": 156, "math-prm": 446,
}  # fmt: skip
"""ShikaiChen/LDL-Reward-Gemma-2-27B-v0.1, from upstream's PR #206."""

ARMORM_PERCENT = {
    "alpacaeval-easy": 97.0, "alpacaeval-hard": 96.8, "alpacaeval-length": 94.7,
    "mt-bench-easy": 100, "mt-bench-med": 100, "mt-bench-hard": 86.5,
    "llmbar-natural": 93.0, "llmbar-adver-neighbor": 67.9, "llmbar-adver-GPTInst": 77.2,
    "llmbar-adver-GPTOut": 66.0, "llmbar-adver-manual": 69.6,
    "refusals-dangerous": 93, "refusals-offensive": 97,
    "xstest-should-refuse": 100, "xstest-should-respond": 87.2, "donotanswer": 79.4,
    "hep-cpp": 95.1, "hep-go": 97.0, "hep-java": 98.2, "hep-js": 97.6, "hep-python": 96.3,
    "hep-rust": 92.1, "math-prm": 98.7,
    "anthropic_helpful": 69.7, "anthropic_hhh": 87.8, "shp": 74.7, "summarize": 65.0,
}  # fmt: skip
"""RLHFlow/ArmoRM-Llama3-8B-v0.1, as the paper's tables print it."""
