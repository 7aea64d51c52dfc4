# मिश्रित परिशुद्धता: autocast के भीतर केवल forward और loss
import csv
import time
from pathlib import Path

import torch
from matplotlib import pyplot as चित्र

from given import device_name

कॉलम = ("precision", "throughput", "epoch_time", "peak_memory_mb", "accuracy", "speedup", "device")


def train_epoch_amp(model, loader, criterion, optimizer, device, use_amp=False, scaler=None, max_grad_norm=None):
    """एक epoch प्रशिक्षण; use_amp हो तो मिश्रित परिशुद्धता में।"""
    model.train()
    if use_amp:
        return मिश्रित(model, loader, criterion, optimizer, device, scaler, max_grad_norm)
    return सामान्य(model, loader, criterion, optimizer, device, max_grad_norm)


def सामान्य(model, loader, criterion, optimizer, device, max_grad_norm):
    हानि, सही, नमूने, प्रतीक्षा = [], torch.tensor(0, device=device), 0, 0.0
    आरंभ = पिछला = time.perf_counter()
    for छवि, वर्ग in loader:
        प्रतीक्षा += time.perf_counter() - पिछला
        छवि, वर्ग = छवि.to(device), वर्ग.to(device)
        optimizer.zero_grad()
        उत्तर = model(छवि)
        loss = criterion(उत्तर, वर्ग)
        loss.backward()
        if max_grad_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
        optimizer.step()
        हानि.append(loss.detach())
        सही += (उत्तर.argmax(1) == वर्ग).sum()
        नमूने += len(वर्ग)
        पिछला = time.perf_counter()
    return परिणाम(हानि, सही, नमूने, प्रतीक्षा, आरंभ)


def मिश्रित(model, loader, criterion, optimizer, device, scaler, max_grad_norm):
    हानि, सही, नमूने, प्रतीक्षा = [], torch.tensor(0, device=device), 0, 0.0
    आरंभ = पिछला = time.perf_counter()
    for छवि, वर्ग in loader:
        प्रतीक्षा += time.perf_counter() - पिछला
        छवि, वर्ग = छवि.to(device), वर्ग.to(device)
        optimizer.zero_grad()
        with torch.autocast(device.type):
            उत्तर = model(छवि)
            loss = criterion(उत्तर, वर्ग)
        if scaler is None:
            loss.backward()
            if max_grad_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            if max_grad_norm is not None:
                scaler.unscale_(optimizer)  # पहले unscale_, फिर clip
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
            scaler.step(optimizer)
            scaler.update()
        हानि.append(loss.detach())
        सही += (उत्तर.argmax(1) == वर्ग).sum()
        नमूने += len(वर्ग)
        पिछला = time.perf_counter()
    return परिणाम(हानि, सही, नमूने, प्रतीक्षा, आरंभ)


def परिणाम(हानि, सही, नमूने, प्रतीक्षा, आरंभ):
    हानि = torch.stack(हानि).cpu().numpy().tolist()
    सटीकता = सही.item() * 100 / नमूने
    समय = time.perf_counter() - आरंभ
    print("समाप्त", "✓")
    return {"losses": हानि, "loss": sum(हानि) / len(हानि), "accuracy": सटीकता, "throughput": नमूने / समय, "data_wait": प्रतीक्षा}


def compare_precision(make_training, loader, device, folder="."):
    तालिका = []
    for नाम in ("FP32", "AMP"):
        मिश्र = नाम == "AMP"
        for क्रम in range(2):  # 0: गरम करना, 1: मापना
            model, criterion, optimizer = make_training(device)
            बैच = list(loader)[:3] if क्रम == 0 else loader
            scaler = torch.amp.GradScaler(device.type) if मिश्र else None
            if device.type == "cuda":
                torch.cuda.reset_peak_memory_stats(device)
            आरंभ = time.perf_counter()
            माप = train_epoch_amp(model, बैच, criterion, optimizer, device, मिश्र, scaler)
            समय = time.perf_counter() - आरंभ
            del model, optimizer
        स्मृति = torch.cuda.max_memory_allocated(device) / 1e6 if device.type == "cuda" else None
        गति = माप["throughput"]
        तालिका.append(
            dict(zip(कॉलम, (नाम, गति, समय, स्मृति, माप["accuracy"], गति / (तालिका[0]["throughput"] if तालिका else गति), device_name(device))))
        )
    with (Path(folder) / "amp_results.csv").open("w", newline="", encoding="utf-8") as फ़ाइल:
        लेखक = csv.DictWriter(फ़ाइल, कॉलम)
        लेखक.writeheader()
        लेखक.writerows(तालिका)
    आकृति, अक्ष = चित्र.subplots(1, 2)
    for अ, (स्तंभ, इकाई) in zip(अक्ष, (("throughput", "samples/s"), ("speedup", "speedup (x)"))):
        अ.bar(["FP32", "AMP"], [पंक्ति[स्तंभ] for पंक्ति in तालिका])
        अ.set_ylabel(इकाई)
    आकृति.savefig(Path(folder) / "amp_comparison.png")
    चित्र.close(आकृति)
    return तालिका
