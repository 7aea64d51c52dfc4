RESULTS = []


def train_epoch_amp(model, loader, criterion, optimizer, device, use_amp=False, scaler=None, max_grad_norm=None):
    from time import perf_counter as now

    import numpy as np
    import torch

    mode = torch.autocast("cuda" if device.type == "cuda" else "cpu", enabled=use_amp)
    use_scaler = use_amp and isinstance(scaler, torch.amp.GradScaler)
    model = model.train()
    loss_sum = torch.zeros([], device=device)
    loss_list = []
    n_right = torch.zeros([], device=device)
    n_all = 0
    waiting = 0.0
    t_start = now()
    it = loader.__iter__()
    done = False
    while not done:
        t = now()
        batch = next(it, None)
        waiting = waiting + (now() - t)
        if batch is None:
            done = True
            continue
        xb, yb = batch
        xb = xb.to(device)
        yb = yb.to(device)
        mode.__enter__()
        try:
            pred = model(xb)
            loss = criterion(pred, yb)
        finally:
            mode.__exit__(None, None, None)
        model.zero_grad()
        if use_scaler:
            grads = torch.autograd.grad(scaler.scale(loss), [p for p in model.parameters() if p.requires_grad])
        else:
            grads = torch.autograd.grad(loss, [p for p in model.parameters() if p.requires_grad])
        for p, g in zip([p for p in model.parameters() if p.requires_grad], grads):
            p.grad = g
        if use_scaler:
            if max_grad_norm is not None:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
            scaler.step(optimizer)
            scaler.update()
        else:
            if max_grad_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
            optimizer.step()
        loss_sum += loss.detach()
        loss_list.append(loss.detach())
        n_right += torch.sum(torch.argmax(pred.detach(), 1) == yb)
        n_all += xb.size(0)
    loss_array = np.array([x.item() for x in loss_list])
    mean = loss_sum.item() / len(loss_list)
    percent = np.float64(n_right.item()) / n_all * 100
    t_end = now()
    return {"losses": list(loss_array), "loss": mean, "accuracy": percent, "throughput": n_all / (t_end - t_start), "data_wait": waiting}


def compare_precision(make_training, loader, device, folder="."):
    import csv
    import os
    import time

    import matplotlib.pyplot as plt
    import torch

    from given import device_name

    RESULTS.clear()
    cuda = device.type == "cuda"
    for precision in "FP32", "AMP":
        net, crit, opt = make_training(device)
        k = 0
        for b in loader:
            train_epoch_amp(net, [b], crit, opt, device, precision == "AMP")
            k += 1
            if k == 2:
                break
        net = opt = None
        net, crit, opt = make_training(device)
        if cuda:
            torch.cuda.reset_peak_memory_stats()
        if precision == "AMP":
            sc = torch.amp.GradScaler(device.type)
        else:
            sc = None
        a = time.perf_counter()
        r = train_epoch_amp(net, loader, crit, opt, device, use_amp=sc is not None, scaler=sc)
        b = time.perf_counter()
        RESULTS.append([precision, r["throughput"], b - a, torch.cuda.max_memory_allocated() / 1e6 if cuda else None, r["accuracy"]])
    for row in RESULTS:
        row.append(row[1] / RESULTS[0][1])
        row.append(device_name(device))
    names = ["precision", "throughput", "epoch_time", "peak_memory_mb", "accuracy", "speedup", "device"]
    with open(os.path.join(str(folder), "amp_results.csv"), "w") as f:
        w = csv.writer(f, quoting=csv.QUOTE_ALL)
        w.writerow(names)
        for row in RESULTS:
            w.writerow(row)
    plt.figure(figsize=(12, 4))
    for i in range(2):
        plt.subplot(1, 2, i + 1)
        for j in range(2):
            h = RESULTS[j][(1, 5)[i]]
            plt.bar(RESULTS[j][0], h)
            plt.text(j, h, "%.2f" % h, ha="center", va="bottom")
        plt.ylabel(["Throughput (samples/sec)", "Speedup vs FP32 (x)"][i])
    plt.savefig(os.path.join(str(folder), "amp_comparison.png"))
    plt.clf()
    return [dict(zip(names, row)) for row in RESULTS]
