// Rows of the backlog are ranked by dragging, or by keyboard on the button that selects a row. Alt
// with an arrow key moves the row by one. Space picks the row up, arrow keys move it, Space drops
// it, and Escape puts it back. The form above the table does the same.
(() => {
  'use strict';
  let held = null, home = null; // the row that is picked up, and the row that followed it

  const form = () => document.getElementById('rank');
  const told = (text, refused) => {
    const p = document.getElementById('told');
    if (p) { p.textContent = text; p.className = refused ? 'refused' : 'unseen'; }
  };
  const grip = row => row.querySelector('input[name=item]');
  const name = row => row.querySelector('th a').textContent;
  const sibling = (row, down) => down ? row.nextElementSibling : row.previousElementSibling;

  function step(row, down) {
    const other = sibling(row, down);
    if (!other) { told(down ? 'This is the last row of the page.' : 'This is the first row.'); return false; }
    other[down ? 'after' : 'before'](row);
    grip(row).focus();
    row.scrollIntoView({block: 'nearest'});
    return true;
  }

  const beside = row => row.previousElementSibling ? 'after ' + name(row.previousElementSibling) : 'as the first';

  // send requests the current position of a row. follower is the row that followed it before.
  // If the request is refused, send puts the row back before follower.
  async function send(row, follower) {
    const above = row.previousElementSibling, below = row.nextElementSibling;
    if (row.nextElementSibling === follower || !above && !below) return;
    const body = new URLSearchParams(new FormData(form()));
    body.set('item', grip(row).value);
    body.set('target', grip(above || below).value);
    body.set('place', above ? 'after' : 'before');
    const parent = row.parentNode;
    let refusal = 'The service does not answer.';
    try {
      const answer = await fetch(form().action, {method: 'POST', body, headers: {'HX-Request': 'true'}});
      refusal = await refusalOf(answer);
    } catch { /* refusal has its default text */ }
    if (refusal) parent.insertBefore(row, follower);
    told(refusal || `${name(row)} is ${beside(row)}.`, refusal);
  }

  let moves = Promise.resolve(); // moves are sent one after another, in their order
  const queue = (row, follower) => { moves = moves.then(() => send(row, follower)); };

  function pick(row) {
    held = row; home = row.nextElementSibling;
    row.classList.add('held');
    told(`${name(row)} is picked up. Arrows move it, Space drops it, Escape puts it back.`);
  }

  function drop(back) {
    const row = held, follower = home;
    held = home = null;
    row.classList.remove('held');
    if (back) { row.parentNode.insertBefore(row, follower); told(`${name(row)} is back.`); } else queue(row, follower);
    grip(row).focus();
  }

  document.addEventListener('keydown', e => {
    if (!e.target.matches || !e.target.matches('#items input[name=item]')) return;
    const row = e.target.closest('tr'), arrow = e.key === 'ArrowDown' || e.key === 'ArrowUp', down = e.key === 'ArrowDown';
    if (e.key === ' ') held ? drop(false) : pick(row);
    else if (e.key === 'Escape' && held) drop(true);
    else if (arrow && held) { if (step(held, down)) told(`${name(held)} ${beside(held)}`); }
    else if (arrow && e.altKey) { const follower = row.nextElementSibling; if (step(row, down)) queue(row, follower); }
    else return;
    e.target.checked = true;
    e.preventDefault();
  });
  document.addEventListener('focusout', e => {
    if (held && !held.contains(e.relatedTarget) && e.relatedTarget) drop(false);
  });

  // A row can be dragged only by its first cells, so that the text in the other cells can be selected.
  const row = e => e.target.closest && e.target.closest('#items tbody tr');
  document.addEventListener('mousedown', e => {
    const cell = form() && e.target.closest('#items td.grip');
    if (cell) cell.parentNode.draggable = true;
  });
  document.addEventListener('mouseup', e => { const r = row(e); if (r) r.removeAttribute('draggable'); });
  document.addEventListener('dragstart', e => {
    const r = row(e);
    if (!r || !r.draggable) return;
    held = r; home = r.nextElementSibling;
    e.dataTransfer.effectAllowed = 'move';
    e.dataTransfer.setData('text/plain', name(r));
  });
  document.addEventListener('dragover', e => {
    const r = held && row(e);
    if (!r) return;
    e.preventDefault();
    const box = r.getBoundingClientRect();
    if (r !== held) r[e.clientY > box.top + box.height / 2 ? 'after' : 'before'](held);
  });
  document.addEventListener('dragenter', e => { if (held && row(e)) e.preventDefault(); });
  document.addEventListener('drop', e => {
    if (!held) return;
    e.preventDefault();
    queue(held, home);
    held.removeAttribute('draggable');
    held = home = null;
  });
  document.addEventListener('dragend', () => { // dropped outside the table, or canceled
    if (!held) return;
    home ? home.before(held) : held.parentNode.append(held);
    held.removeAttribute('draggable');
    held = home = null;
  });

  const ready = () => {
    if (!form()) return;
    document.getElementById('keys').hidden = false;
    document.querySelector('.items').classList.add('drags');
  };
  document.addEventListener('htmx:afterSwap', ready);
  ready();
})();
