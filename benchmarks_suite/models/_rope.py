"""Rotary embeddings as published, for whoever builds the model. Stdlib only.

field/huggingface.py must not import transformers' models before torchvision can be imported.
"""

LLAMA_3_2 = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 32.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
